"""The partition that Kafka's Java clients choose for a key.

Implemented from the description of the algorithm (Austin Appleby's MurmurHash2, seed 0x9747b28c, as in
org.apache.kafka.common.utils.Utils); shares no code with the relay or with librdkafka.
"""

_MASK = 0xFFFFFFFF
_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C


def murmur2(data: bytes) -> int:
    """The hash as Java returns it: a signed 32-bit number."""
    value = _SEED ^ len(data)
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at:at + 4], "little") * _MULTIPLIER & _MASK
        word = (word ^ word >> 24) * _MULTIPLIER & _MASK
        value = (value * _MULTIPLIER & _MASK) ^ word
    if rest := data[whole:]:
        value = (value ^ int.from_bytes(rest, "little")) * _MULTIPLIER & _MASK
    value = (value ^ value >> 13) * _MULTIPLIER & _MASK
    value ^= value >> 15
    return value - (1 << 32) if value & 1 << 31 else value


def partition_for(key: bytes, partitions: int) -> int:
    """The partition of a keyed record in a topic with `partitions` partitions."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
