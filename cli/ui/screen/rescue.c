#include "cli/ui/screen/rescue.h"

#include <curses.h>
#include <signal.h>
#include <stdlib.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

/* Data of the signal handler, which is prepared before a signal arrives, because a signal handler
 * may only call async-signal-safe functions. */
static struct {
    volatile sig_atomic_t armed;
    struct termios before;
    char bytes[512]; /* sequences that reset the terminal */
    size_t n;
} rescue;

static const int fatal[] = {SIGQUIT, SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};

static void restore_terminal_on_signal(int number)
{
    if (rescue.armed != 0) {
        rescue.armed = 0;
        ssize_t n = write(STDOUT_FILENO, rescue.bytes, rescue.n);
        (void)n;
        (void)tcsetattr(STDOUT_FILENO, TCSANOW, &rescue.before);
    }
    (void)signal(number, SIG_DFL);
    raise(number);
}

static void on_hangup(int number)
{
    (void)number;
    raise(SIGTERM);
}

/* Adds a control sequence. Skips delays such as `$<5/>`, which only old terminals need. */
static void rescue_append_control_sequence(const char *sequence)
{
    if (sequence == NULL)
        return;
    while (*sequence != '\0' && rescue.n < sizeof rescue.bytes) {
        if (sequence[0] == '$' && sequence[1] == '<')
            sequence += strcspn(sequence, ">");
        else
            rescue.bytes[rescue.n++] = *sequence;
        sequence += *sequence != '\0';
    }
}

static void rescue_install_signal_handler(int number, void (*handler)(int))
{
    struct sigaction a = {.sa_handler = handler}, before;
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(number, &a, NULL);
}

bool rescue_prepare_terminal_reset(void)
{
    int found = 0;
    if (setupterm(NULL, STDOUT_FILENO, &found) != OK)
        return false;
    rescue.n = 0;
    /* turns off mouse reports and bracketed paste */
    rescue_append_control_sequence("\033[?1006l\033[?1000l\033[?2004l");
    rescue_append_control_sequence(exit_attribute_mode);
    rescue_append_control_sequence(cursor_normal);
    rescue_append_control_sequence(keypad_local);
    rescue_append_control_sequence(exit_ca_mode);
    bool moves = cursor_address != NULL;
    del_curterm(cur_term); /* later newterm() reads the terminal's description itself */
    if (!moves)
        return false;
    rescue.armed = tcgetattr(STDOUT_FILENO, &rescue.before) == 0;
    for (size_t i = 0; i < MI_COUNT(fatal); i++)
        rescue_install_signal_handler(fatal[i], restore_terminal_on_signal);
    rescue_install_signal_handler(SIGHUP, on_hangup);
    return true;
}

void rescue_close(void)
{
    rescue.armed = 0;
}
