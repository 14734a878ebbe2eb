import { isRecord } from '../../lib/json/json.ts';
import { deliveredAsWhole, doubtsOf } from '../metering/plausible-usage.ts';
import type { ReadResponse, ResponseReading } from '../metering/response.ts';
import { readDeclaredCount } from '../metering/usage-facts.ts';
import { ResponseContinuationKeys } from './continuation-keys.ts';
import { readResponsesUsage } from './usage.ts';

/**
 * Reads responses of `POST /v1/responses/compact` (contract 2.1): the user's messages, then exactly one compaction, with items of unknown
 * types anywhere. If the result breaks the contract, or its usage cannot be true, it counts as having no usage, so the call fails.
 */
export const compactionResponse: ResponseReading = {
  keep: ['id', 'object', 'created_at', 'output', 'usage', 'service_tier'],
  count: [],
  usage(response) {
    const usage = response.member('usage');
    if (!isCompactionResult(response) || !isTrustedUsage(usage)) return null;
    const read = readResponsesUsage(usage, { service_tier: response.member('service_tier') });
    return read === null || doubtsOf(read, COMPACTION_TEXT, 'tokens').length > 0 ? null : read;
  },
  continuationKeys(response) {
    const continuationKeys = new ResponseContinuationKeys();
    continuationKeys.addResponse(response.member('id'));
    continuationKeys.addOutput(response.member('output'));
    return continuationKeys.keys();
  },
};

/** Stands for the text of the compaction: its size is unknown, but not zero. */
const COMPACTION_TEXT = deliveredAsWhole(1);

function isCompactionResult(response: ReadResponse): boolean {
  const createdAt = response.member('created_at');
  return (
    response.member('object') === 'response.compaction' &&
    isText(response.member('id')) &&
    Number.isFinite(createdAt) &&
    Number(createdAt) >= 0 &&
    isCompactedOutput(response.member('output'))
  );
}

/** Whether the output is that of a compaction. A single item without an array can only be the compaction. */
function isCompactedOutput(output: unknown): boolean {
  let hasCompaction = false;
  for (const item of Array.isArray(output) ? output : [output]) {
    if (!isRecord(item) || !isText(item.type)) return false;
    if (item.type === 'message') {
      if (hasCompaction || !isUserMessage(item)) return false;
    } else if (item.type === 'compaction') {
      if (hasCompaction || !isCompaction(item)) return false;
      hasCompaction = true;
    }
  }
  return hasCompaction;
}

function isCompaction(item: Record<string, unknown>): boolean {
  return isText(item.id) && isText(item.encrypted_content) && isAbsentOr(isString, item.created_by);
}

const STATUSES: readonly unknown[] = ['in_progress', 'completed', 'incomplete'];

function isUserMessage(item: Record<string, unknown>): boolean {
  return (
    item.role === 'user' &&
    isAbsentOr(isString, item.id) &&
    isAbsentOr((status) => STATUSES.includes(status), item.status) &&
    Array.isArray(item.content) &&
    item.content.every(isUserContent)
  );
}

/** Whether a block is a user's. The contract mentions only text; images and files of the request (contract 4.3) may be returned, too. */
function isUserContent(block: unknown): boolean {
  if (!isRecord(block)) return false;
  if (block.type === 'input_text') return isString(block.text);
  return block.type === 'input_image' || block.type === 'input_file';
}

function isTrustedUsage(usage: unknown): boolean {
  if (!isRecord(usage)) return false;
  const { input_tokens, output_tokens, total_tokens, input_tokens_details, output_tokens_details } = usage;
  return (
    [input_tokens, output_tokens, total_tokens].every((total) => readDeclaredCount(total) != null) &&
    areCounts(input_tokens_details, ['cached_tokens', 'cache_write_tokens']) &&
    areCounts(output_tokens_details, ['reasoning_tokens'])
  );
}

function areCounts(details: unknown, names: readonly string[]): boolean {
  return (
    isAbsentOr(isRecord, details) &&
    names.every((name) => readDeclaredCount(isRecord(details) ? details[name] : null) !== undefined)
  );
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isText(value: unknown): value is string {
  return isString(value) && value !== '';
}

function isAbsentOr(isValid: (value: unknown) => boolean, value: unknown): boolean {
  return value === undefined || value === null || isValid(value);
}
