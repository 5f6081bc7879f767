#include <jemalloc/jemalloc.h>

// jemalloc reads this once, before main(); MALLOC_CONF in the environment overrides it. One arena
// is enough: the relay's thread does the allocating and freeing, in bursts of hundreds of records,
// and each additional arena would keep its own free pages.
//
// By default free pages are kept for ten seconds. After an outage, librdkafka allocates and frees
// requests of a megabyte for seconds, and the memory would depend on the rate instead of on the
// window: decision 0012.
const char* malloc_conf = "narenas:1,dirty_decay_ms:200";
