/* room.h - one more place in an array that grows.
 *
 * Growth    to twice the places each time, so that n additions copy no more than 2 n elements.
 * Owns      nothing: the array and the number of its places stay the caller's, who frees the array.
 * Errors    false: no memory, or more bytes than a size_t counts. The array is then as it was.
 * Blocks    never. */
#ifndef MI_BASE_ROOM_H
#define MI_BASE_ROOM_H

#include "base/base.h"

/* Is there, or is now, room for one more behind the n elements of `list`, which has `cap` places? Both are
 * written to. */
#define ROOM(list, n, cap) ((n) < (cap) || room_make((void **)&(list), &(cap), sizeof *(list)))

MI_MUST bool room_make(void **list, size_t *cap, size_t size);

#endif
