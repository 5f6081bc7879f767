#include <jemalloc/jemalloc.h>

// jemalloc reads this once, before main(); MALLOC_CONF in the environment overrides it. One arena
// is enough: the relay's thread does the allocating and freeing, in bursts of hundreds of records,
// and each additional arena would keep its own free pages.
const char* malloc_conf = "narenas:1";
