#include <jemalloc/jemalloc.h>

// What jemalloc looks for, once, before main(); MALLOC_CONF in the environment goes before it.
// One arena: it is the relay's thread that allocates and frees, in bursts of hundreds of records,
// and each further arena would keep free pages of its own.
const char* malloc_conf = "narenas:1";
