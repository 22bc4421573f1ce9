#include "cli/send/interrupt.h"

#include <signal.h>

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t came; /* number of the signal that has arrived; 0: none */

static void interrupt_on_signal(int number)
{
    came = number;
}

void interrupt_catch_signals(void)
{
    struct sigaction a = {.sa_handler = interrupt_on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < MI_COUNT(caught); i++)
        (void)sigaction(caught[i], &a, NULL);
}

void interrupt_block_signals(bool block)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < MI_COUNT(caught); i++)
        (void)sigaddset(&set, caught[i]);
    (void)sigprocmask(block ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

bool interrupt_was_received(void)
{
    return came != 0;
}

void interrupt_exit_by_signal(void)
{
    if (came == 0)
        return;
    (void)signal(came, SIG_DFL);
    interrupt_block_signals(false);
    (void)raise(came);
}
