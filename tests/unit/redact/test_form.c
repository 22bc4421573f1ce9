/* Forms: which fields ask for a secret, and what is replaced in the answers. */
#include "redact/form.h"

#include "tests/support/unit.h"
#include "wire/json/text.h"

#include <stdio.h>

static int open_rules(void **state)
{
    struct buf error = {0};
    struct redact *r;
    if (redact_open(&r, &error) < 0)
        return -1;
    *state = r;
    return 0;
}

static int close_rules(void **state)
{
    redact_close(*state);
    return 0;
}

/* With "double" for 'single' quotes, in b. */
static struct json_value quoted(struct buf *b, const char *text)
{
    buf_clear(b);
    for (const char *p = text; *p != '\0'; p++)
        buf_addc(b, *p == '\'' ? '"' : *p);
    return (struct json_value){json_type_at(b->p[0]), buf_slice(b)};
}

/* The message that `format` makes with these two values. */
static bool says(struct forms *f, const struct redact *r, bool from_client, const char *format,
                 struct json_value one, struct json_value two)
{
    struct buf b = {0};
    struct rpc m;
    for (const char *p = format; *p != '\0'; p++)
        if (*p == '1' || *p == '2')
            buf_slice_add(&b, *p == '1' ? one.text : two.text);
        else if (*p == '@')
            buf_adds(&b, "2.0");
        else
            buf_addc(&b, *p == '\'' ? '"' : *p);
    assert_int_equal(rpc_read(buf_slice(&b), &m), 0);
    bool asks = forms_read_rpc(f, r, &m, from_client);
    buf_close(&b);
    return asks;
}

static bool says_request(struct forms *f, const struct redact *r, struct json_value id,
                         struct json_value params)
{
    return says(f, r, false, "{'jsonrpc':'@','id':1,'method':'elicitation/create','params':2}", id,
                params);
}

static bool says_inputs(struct forms *f, const struct redact *r, struct json_value requests)
{
    return says(f, r, false, "{'jsonrpc':'@','id':0,'result':{'inputRequests':1}}", requests,
                requests);
}

static void says_task(struct forms *f, struct json_value id, struct json_value task)
{
    (void)says(f, NULL, true, "{'jsonrpc':'@','id':1,'result':{'task':{'taskId':2}}}", id, task);
}

static void says_result(struct forms *f, const struct redact *r, struct json_value id,
                        struct json_value task)
{
    (void)says(f, r, false, "{'jsonrpc':'@','id':1,'method':'tasks/result','params':{'taskId':2}}",
               id, task);
}

static bool asks(struct forms *f, struct redact *r, const char *id, const char *properties)
{
    struct buf b = {0}, of_id = {0}, all = {0};
    buf_printf(&all, "{'requestedSchema':{'type':'object','properties':{%s}}}", properties);
    bool found = says_request(f, r, quoted(&of_id, id), quoted(&b, buf_str(&all)));
    buf_close(&b);
    buf_close(&of_id);
    buf_close(&all);
    return found;
}

/* want: NULL if nothing is replaced. */
static void answers(const struct forms *f, const char *message, const char *want)
{
    struct buf b = {0}, out = {0}, again = {0}, w = {0};
    size_t n = 7;
    assert_int_equal(forms_hide_secrets(f, quoted(&b, message).text, &out, &n), 0);
    if (want == NULL) {
        if (n != 0)
            fail_msg("%s: %s", message, buf_str(&out));
    } else {
        if (n == 0 || !slice_eq(buf_slice(&out), quoted(&w, want).text))
            fail_msg("%s: %zu %s", message, n, buf_str(&out));
        assert_int_equal(forms_hide_secrets(f, buf_slice(&out), &again, &n), 0);
        assert_int_equal(n, 0);
    }
    buf_close(&b);
    buf_close(&out);
    buf_close(&again);
    buf_close(&w);
}

static void test_form_field_that_asks_for_a_secret_is_found(void **state)
{
    static const char *const rows[] = {
        "'password':{'type':'string'}",
        "'dbPassword':{}",
        "'api_key':{'type':['string','null']}",
        "'githubToken':{'type':'string'}",
        "'pin':{'type':'integer'}",
        "'card_number':{'type':'string'}",
        "'cvv':{'type':'integer'}",
        "'x':{'type':'string','format':'password'}",
        "'x':{'type':'string','title':'Password'}",
        "'x':{'type':'string','title':'Your API key'}",
        "'x':{'type':'string','title':'PIN'}",
        "'x':{'type':'string','title':'Card number (16 digits)'}",
        "'x':{'type':'string','description':'Enter the password for alice@example.com.'}",
        "'x':{'type':'string','description':'We need your GitHub personal access token to read the "
        "repository.'}",
        "'x':{'type':'string','description':'The 4-digit PIN of your card'}",
        "'x':{'type':'string','description':'The p\\u0061ssphrase, please'}",
        "'x':{'type':'string','description':'Not your name: your password'}",
        "'a':{'type':'string'},'x':{'type':'string','title':'API-Key'}",
        "'x':{'type':'string','title':'Enter your name and password'}",
        "'x':{'type':'string','title':'Last 4 digits of your SSN'}",
        "'x':{'type':'string','title':'The value of your API key'}",
        "'password':{'anyOf':[{'type':'string'},{'type':'null'}]}",
        "'x':{'type':'string','title':'PIN','title':'User'}",
        "'x':{'title':'PIN'}},'properties':{'y':{}",
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct forms f = {0};
        if (!asks(&f, *state, "1", rows[i]))
            fail_msg("%s", rows[i]);
    }
}

static void test_form_field_that_only_looks_like_one_is_not(void **state)
{
    static const char *const rows[] = {
        "'name':{'type':'string'}",
        "'max_tokens':{'type':'integer'}",
        "'token_count':{'type':'integer'}",
        "'pinned':{'type':'string'}",
        "'spin':{'type':'integer'}",
        "'nextPageToken':{'type':'string'}",
        "'show_password':{'type':'boolean'}",
        "'token':{'type':'string','enum':['a','b']}",
        "'pass':{'type':'integer'}",
        "'x':{'type':'boolean','title':'Password'}",
        "'x':{'type':'integer','title':'Maximum number of tokens'}",
        "'x':{'type':'integer','description':'The token limit'}",
        "'x':{'type':'string','description':'The name of the secret to read'}",
        "'x':{'type':'string','description':'Path to the private key'}",
        "'x':{'type':'string','description':'Do not enter your password here'}",
        "'x':{'type':'string','title':'Password policy'}",
        "'x':{'type':'string','title':'Label for this API key'}",
        "'x':{'type':'string','title':'Reason for rotating the token'}",
        "'x':{'type':'string','title':'Whose password should be reset?'}",
        "'x':{'type':'string','title':'Date when the token will expire'}",
        "'x':{'type':'string','title':'The name and the number of the tokens'}",
        "'x':{'type':'string','title':'GPIO pin'}",
        "'x':{'type':'string','title':'Boarding pass for the flight'}",
        "'x':{'type':'string','description':'Which cookies do you like?'}",
        "'x':{'type':'string','description':'Do you give authorization to go on?'}",
        "'x':{'type':'string','description':'Resume token'}",
        "'x':{'type':'string','title':7,'description':null,'format':['password']}",
        "'x':true",
        "'token':{'oneOf':[{'const':'a','type':'string'},{'const':'b','type':'string'}]}",
        "'token':{'anyOf':[{'type':'boolean'},{'type':'null'}]}",
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct forms f = {0};
        if (asks(&f, *state, "1", rows[i]))
            fail_msg("%s", rows[i]);
    }
}

static void test_form_whose_only_field_has_no_meaning_is_read_with_its_message(void **state)
{
    static const struct {
        const char *params;
        bool asks;
    } rows[] = {
        {"{'message':'Enter your API "
         "key','requestedSchema':{'properties':{'value':{'type':'string'}}}}",
         true},
        {"{'message':'Enter your API "
         "key','requestedSchema':{'properties':{'value':{}},'required':['value']}}",
         true},
        {"{'message':'Enter your "
         "name','requestedSchema':{'properties':{'value':{'type':'string'}}}}",
         false},
        {"{'message':'Enter your API "
         "key','requestedSchema':{'properties':{'value':{'type':'boolean'}}}}",
         false},
        {"{'message':'Enter your API "
         "key','requestedSchema':{'properties':{'name':{'type':'string'}}}}",
         false},
        {"{'message':'Enter your API key','requestedSchema':{'properties':{'value':{},'x':{}}}}",
         false},
        {"{'message':'Enter your API key'}", false},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct forms f = {0};
        struct buf b = {0}, id = {0};
        if (says_request(&f, *state, quoted(&id, "1"), quoted(&b, rows[i].params)) != rows[i].asks)
            fail_msg("%s", rows[i].params);
        buf_close(&b);
        buf_close(&id);
    }
}

static void test_form_answer_loses_only_the_secret_fields(void **state)
{
    struct forms f = {0};
    assert_true(
        asks(&f, *state, "7",
             "'user':{'type':'string'},'x':{'title':'Password'},'\\u0079':{'title':'PIN'}"));
    answers(&f,
            "{'id':7,'result':{'action':'accept','content':{'user':'ada','x':'hunter2','y':1234}}}",
            "{'id':7,'result':{'action':'accept','content':{'user':'ada','x':'[redacted:form]','y':"
            "'[redacted:form]'}}}");
    answers(&f, "{'id':'7','result':{'content':{'x':['a'],'user':'x'},'action':'accept'}}",
            "{'id':'7','result':{'content':{'x':'[redacted:form]','user':'x'},'action':'accept'}}");
    answers(&f, "[{'id':3},{'id':7,'result':{'content':{'x':'a'}}}]",
            "[{'id':3},{'id':7,'result':{'content':{'x':'[redacted:form]'}}}]");
    answers(&f, "{'id':7,'result':{'action':'decline'}}", NULL);
    answers(&f, "{'id':7,'result':{'action':'accept','content':{'x':'','y':null,'user':'x'}}}",
            NULL);
    answers(&f, "{'id':7,'error':{'code':1,'message':'x'}}", NULL);
}

/* In 2025-11-25 the client may answer with a task. */
static void test_form_result_of_a_task_is_that_of_its_form(void **state)
{
    struct forms f = {0};
    struct buf id = {0}, task = {0};
    assert_true(asks(&f, *state, "7", "'user':{},'x':{'title':'Password'}"));
    says_task(&f, quoted(&id, "8"), quoted(&task, "'t'")); /* of another request */
    says_result(&f, *state, quoted(&id, "9"), quoted(&task, "'t'"));
    answers(&f, "{'id':9,'result':{'action':'accept','content':{'user':'a'}}}",
            "{'id':9,'result':{'action':'accept','content':{'user':'[redacted:form]'}}}");
    says_task(&f, quoted(&id, "7"), quoted(&task, "'t'"));
    says_result(&f, *state, quoted(&id, "9"), quoted(&task, "'t'"));
    answers(&f, "{'id':9,'result':{'action':'accept','content':{'user':'a','x':'b'}}}",
            "{'id':9,'result':{'action':'accept','content':{'user':'a','x':'[redacted:form]'}}}");
    buf_close(&id);
    buf_close(&task);
}

static void test_form_answer_to_an_unknown_form_loses_all_fields(void **state)
{
    struct forms f = {0};
    answers(&f, "{'id':1,'result':{'action':'accept','content':{'a':'b','c':true}}}",
            "{'id':1,'result':{'action':'accept','content':{'a':'[redacted:form]','c':true}}}");
    answers(&f, "{'id':1,'result':{'role':'assistant','content':{'type':'text','text':'x'}}}",
            NULL);
    assert_false(asks(&f, *state, "1", "'a':{'type':'string'}"));
    answers(&f, "{'id':1,'result':{'action':'accept','content':{'a':'b'}}}", NULL);
    for (int i = 0; i < FORMS_MAX; i++) {
        char id[16];
        snprintf(id, sizeof id, "%d", 100 + i);
        assert_false(asks(&f, *state, id, "'a':{'type':'string'}"));
    }
    answers(&f, "{'id':1,'result':{'action':'accept','content':{'a':'b'}}}",
            "{'id':1,'result':{'action':'accept','content':{'a':'[redacted:form]'}}}");
}

static void test_form_with_too_many_secret_fields_loses_all(void **state)
{
    struct forms f = {0};
    struct buf b = {0};
    for (int i = 0; i <= FORM_FIELDS; i++)
        buf_printf(&b, "'x%d':{'title':'Password'},", i);
    buf_adds(&b, "'user':{}");
    assert_true(asks(&f, *state, "1", buf_str(&b)));
    answers(&f, "{'id':1,'result':{'action':'accept','content':{'user':'a'}}}",
            "{'id':1,'result':{'action':'accept','content':{'user':'[redacted:form]'}}}");
    buf_close(&b);
}

/* A server must not make the proxy work for long. */
static void test_form_that_is_too_long_is_not_read_and_loses_all(void **state)
{
    struct forms f = {0};
    struct buf b = {0};
    for (int i = 0; i < 5000; i++)
        buf_printf(&b, "'x%d':{'title':'%.100s'},", i,
                   "the name of a secret, the name of a token, a pin");
    buf_adds(&b, "'user':{'title':'User'}");
    assert_true(b.n > FORM_BYTES);
    assert_false(asks(&f, *state, "1", buf_str(&b)));
    answers(&f, "{'id':1,'result':{'action':'accept','content':{'user':'a','b':true}}}",
            "{'id':1,'result':{'action':'accept','content':{'user':'[redacted:form]','b':true}}}");
    buf_close(&b);
}

/* The budget is that of the whole message. */
static void test_form_behind_long_ones_in_a_message_loses_all(void **state)
{
    struct forms f = {0};
    struct buf b = {0}, text = {0};
    buf_adds(&b, "{'a':{'method':'elicitation/"
                 "create','params':{'requestedSchema':{'properties':{'x':{}}},'message':'");
    for (size_t i = 0; i < FORM_BYTES - 200; i++)
        buf_addc(&b, 'a');
    buf_adds(&b, "'}},'b':{'method':'elicitation/"
                 "create','params':{'message':'12345678901234567890123456789012345678901234567"
                 "890123456789012345678901234567890123456789012345678901234567890123456789012345678"
                 "9','requestedSchema':"
                 "{'properties':{'x':{}}}}}}");
    assert_false(says_inputs(&f, *state, quoted(&text, buf_str(&b))));
    answers(&f,
            "{'params':{'inputResponses':{'a':{'action':'accept','content':{'x':'1'}},'b':{'action'"
            ":'accept','content':"
            "{'x':'2'}}}}}",
            "{'params':{'inputResponses':{'a':{'action':'accept','content':{'x':'1'}},'b':{'action'"
            ":'accept','content':"
            "{'x':'[redacted:form]'}}}}}");
    buf_close(&b);
    buf_close(&text);
}

/* A reader may take any of several members with one name. */
static void test_form_answer_with_a_name_twice_loses_both(void **state)
{
    struct forms f = {0};
    struct buf b = {0};
    assert_true(asks(&f, *state, "7", "'x':{'title':'PIN'}"));
    answers(
        &f, "{'id':7,'result':{'content':{'x':'a'},'content':{'x':'b'}}}",
        "{'id':7,'result':{'content':{'x':'[redacted:form]'},'content':{'x':'[redacted:form]'}}}");
    answers(&f, "{'id':7,'result':{'content':{'x':'a'}},'result':7}",
            "{'id':7,'result':{'content':{'x':'[redacted:form]'}},'result':'[redacted:form]'}");
    answers(&f, "{'result':{'content':{'x':'a'}},'x':7}", NULL);
    answers(&f, "{'id':7,'id':8,'result':{'content':{'x':'a'}}}",
            "{'id':7,'id':8,'result':{'content':{'x':'[redacted:form]'}}}");
    assert_true(says_inputs(
        &f, *state,
        quoted(&b, "{'k':{'method':'elicitation/"
                   "create','params':{'requestedSchema':{'properties':{'x':{'title':'PIN'}}}}}}")));
    answers(&f,
            "{'params':{'inputResponses':{'k':{'content':{'x':'a'}}},'inputResponses':{}},'params':"
            "{'inputResponses':[1]}}",
            "{'params':{'inputResponses':{'k':{'content':{'x':'[redacted:form]'}}},'inputResponses'"
            ":{}},'params':{'inputResponses':'[redacted:form]'}}");
    buf_close(&b);
}

static void test_form_answer_of_another_shape_loses_the_whole(void **state)
{
    struct forms f = {0};
    assert_false(asks(&f, *state, "1", "'x':{'title':'User'}"));
    answers(&f, "{'id':1,'result':{'action':'accept','content':['x','a']}}", NULL);
    answers(&f, "{'id':1,'result':'a'}", NULL);
    answers(&f, "{'id':1,'params':{'inputResponses':'a'}}", NULL);
    assert_true(asks(&f, *state, "7", "'x':{'title':'PIN'}"));
    answers(&f, "{'id':7,'result':{'action':'accept','content':['x','a']}}",
            "{'id':7,'result':{'action':'accept','content':'[redacted:form]'}}");
    answers(&f, "{'id':7,'result':['a']}", "{'id':7,'result':'[redacted:form]'}");
    answers(&f, "{'id':3,'params':{'inputResponses':'a'}}",
            "{'id':3,'params':{'inputResponses':'[redacted:form]'}}");
    answers(&f, "{'id':7.0,'result':{'content':{'x':'a'}}}",
            "{'id':7.0,'result':{'content':{'x':'[redacted:form]'}}}");
}

static void test_form_with_an_id_that_is_used_again_keeps_its_secret_fields(void **state)
{
    struct forms f = {0};
    assert_true(asks(&f, *state, "7", "'x':{'title':'PIN'}"));
    assert_false(asks(&f, *state, "7", "'y':{'type':'string'}"));
    answers(&f, "{'id':7,'result':{'content':{'x':'1','y':'blue'}}}",
            "{'id':7,'result':{'content':{'x':'[redacted:form]','y':'blue'}}}");
}

static void test_form_behind_many_other_requests_is_read(void **state)
{
    struct forms f = {0};
    struct buf b = {0}, text = {0};
    buf_addc(&b, '{');
    for (int i = 0; i < 1000; i++)
        buf_printf(&b, "'r%d':{'method':'roots/list'},", i);
    buf_adds(&b, "'k':{'method':'elicitation/"
                 "create','params':{'requestedSchema':{'properties':{'x':{'title':'PIN'}}}}}}");
    assert_true(says_inputs(&f, *state, quoted(&text, buf_str(&b))));
    answers(&f, "{'params':{'inputResponses':{'k':{'content':{'x':'a','y':'b'}}}}}",
            "{'params':{'inputResponses':{'k':{'content':{'x':'[redacted:form]','y':'b'}}}}}");
    buf_close(&b);
    buf_close(&text);
}

static void test_form_answer_that_is_no_json_is_not_kept(void **state)
{
    struct forms f = {0};
    answers(&f, "{'id':1,'result':{'action':'accept','content':{'x':'a'", NULL);
    assert_false(asks(&f, *state, "1", "'x':{'type':'string'}"));
    answers(&f, "{'id':1,'result':{'action':'accept','content':{'x':'a'", NULL);
    assert_true(asks(&f, *state, "2", "'x':{'title':'PIN'}"));
    answers(&f, "{'id':2,'result':{'action':'accept','content':{'x':'a'", "[redacted:form]");
}

static void test_form_input_responses_are_found_by_their_keys(void **state)
{
    struct forms f = {0};
    struct buf b = {0};
    assert_true(says_inputs(
        &f, *state,
        quoted(&b,
               "{'a':{'method':'elicitation/"
               "create','params':{'requestedSchema':{'properties':{'x':{'title':'PIN'},'y':{}}}}},"
               "'b':{'method':'roots/list'},"
               "'c':{'method':'elicitation/"
               "create','params':{'requestedSchema':{'properties':{'x':{'title':'Colour'}}}}}}")));
    answers(
        &f,
        "{'method':'tools/"
        "call','params':{'inputResponses':{'a':{'action':'accept','content':{'x':'1234','y':'2'}},"
        "'b':{'roots':[]},'c':{'action':'accept','content':{'x':'red'}}}}}",
        "{'method':'tools/"
        "call','params':{'inputResponses':{'a':{'action':'accept','content':{'x':'[redacted:form]',"
        "'y':'2'}},"
        "'b':{'roots':[]},'c':{'action':'accept','content':{'x':'red'}}}}}");
    assert_false(
        says_inputs(&f, *state,
                    quoted(&b, "{'a':{'method':'elicitation/"
                               "create','params':{'requestedSchema':{'properties':{'y':{}}}}}}")));
    answers(&f, "{'params':{'inputResponses':{'a':{'action':'accept','content':{'x':'1'}}}}}",
            "{'params':{'inputResponses':{'a':{'action':'accept','content':{'x':'[redacted:form]'}}"
            "}}}");
    buf_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_form_field_that_asks_for_a_secret_is_found),
        cmocka_unit_test(test_form_field_that_only_looks_like_one_is_not),
        cmocka_unit_test(test_form_whose_only_field_has_no_meaning_is_read_with_its_message),
        cmocka_unit_test(test_form_answer_loses_only_the_secret_fields),
        cmocka_unit_test(test_form_result_of_a_task_is_that_of_its_form),
        cmocka_unit_test(test_form_answer_to_an_unknown_form_loses_all_fields),
        cmocka_unit_test(test_form_with_too_many_secret_fields_loses_all),
        cmocka_unit_test(test_form_that_is_too_long_is_not_read_and_loses_all),
        cmocka_unit_test(test_form_behind_long_ones_in_a_message_loses_all),
        cmocka_unit_test(test_form_answer_with_a_name_twice_loses_both),
        cmocka_unit_test(test_form_answer_of_another_shape_loses_the_whole),
        cmocka_unit_test(test_form_with_an_id_that_is_used_again_keeps_its_secret_fields),
        cmocka_unit_test(test_form_behind_many_other_requests_is_read),
        cmocka_unit_test(test_form_answer_that_is_no_json_is_not_kept),
        cmocka_unit_test(test_form_input_responses_are_found_by_their_keys),
    };
    return cmocka_run_group_tests_name("form", tests, open_rules, close_rules);
}
