-- Bloom filters of the request ids of calls that fit into one index row (docs/decisions/0036-request-ids.md).

-- home: partition

-- Reads all calls of the partition once; calls cannot be written meanwhile.
drop index calls_by_request;
-- A filter of 2,500 values has 3 KB, whatever is added to it. Two of the default size, 4.4 KB, can exceed the 8,152 bytes of an index row.
create index calls_by_request on calls using brin (
  request_id text_bloom_ops (n_distinct_per_range = 2500),
  client_request_id text_bloom_ops (n_distinct_per_range = 2500)
) with (autosummarize = on);
