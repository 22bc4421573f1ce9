#include "tests/faults/fault.h"

#include "tests/faults/places.h"

const char *const calls_names[CALLS_COUNT] = {"memory", "write", "io",   "short",
                                              "sync",   "open",  "other"};
const char *const how_names[HOW_COUNT] = {"once", "on", "ever"};
struct fault fault;

bool fault_hits(enum calls calls)
{
    if (!fault.armed || calls != fault.calls)
        return false;
    fault.count++;
    places_note(fault.count);
    bool hit = fault.how == HOW_ONCE ? fault.count == fault.at : fault.count >= fault.at;
    fault.hits += hit;
    return hit;
}

bool fault_pause(void)
{
    bool was = fault.armed;
    fault.armed = false;
    return was;
}

void fault_resume(bool was)
{
    fault.armed = was;
}
