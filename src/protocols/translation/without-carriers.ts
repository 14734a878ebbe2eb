import { JsonSlice } from '../../lib/json/json-slice.ts';
import { splice } from '../operations/json-operation.ts';
import type { Splice } from '../operations/operation.ts';
import { CARRIER_FORMAT, readCarrier } from './carriers.ts';

/**
 * Removes carriers from a body for a provider that did not write their reasoning: it would refuse them. All other bytes stay as they are.
 * @param body valid JSON in any protocol of clients; check it with `mayHaveCarriers` before
 */
export function withoutCarriers(body: Buffer): Buffer {
  const top = JsonSlice.at(body).members();
  const lists = [top.get('messages'), top.get('input')].filter((list) => list?.kind === 'array');
  return splice(
    body,
    lists.flatMap((list) => [
      ...removed(list!, isCarrierItem),
      ...list!.items().flatMap((item) => (isCarrierItem(item) ? [] : ofTurn(item))),
    ]),
  );
}

/** Removes blocks of a message, and details of its reasoning. */
function ofTurn(turn: JsonSlice): Splice[] {
  const members = turn.members();
  const content = members.get('content');
  const details = members.get('reasoning_details');
  return [
    ...(content === undefined ? [] : removed(content, isCarrierBlock)),
    ...(details === undefined ? [] : removed(details, isCarrierDetail)),
  ];
}

function isCarrier(value: JsonSlice | undefined): boolean {
  const text = value?.text ?? null;
  return text !== null && readCarrier(text) !== null;
}

/** An item of a responses request. */
function isCarrierItem(item: JsonSlice): boolean {
  const members = item.members();
  return members.get('type')?.text === 'reasoning' && isCarrier(members.get('encrypted_content'));
}

/** A block of a messages request. */
function isCarrierBlock(block: JsonSlice): boolean {
  const members = block.members();
  return (
    isCarrier(members.get('signature')) ||
    (members.get('type')?.text === 'redacted_thinking' && isCarrier(members.get('data')))
  );
}

/** An item of `reasoning_details` in a chat request. */
function isCarrierDetail(detail: JsonSlice): boolean {
  return detail.members().get('format')?.text === CARRIER_FORMAT;
}

/** Removes items of an array, each with the comma that its neighbor no longer needs. */
function removed(list: JsonSlice, isRemoved: (item: JsonSlice) => boolean): Splice[] {
  const items = list.items();
  const splices: Splice[] = [];
  let lastKept: JsonSlice | null = null;
  for (const [index, item] of items.entries()) {
    if (!isRemoved(item)) {
      lastKept = item;
      continue;
    }
    const next = items[index + 1];
    // Behind a kept item, its comma goes; else the comma before the next item.
    const start = lastKept === null ? item.start : (items[index - 1]?.end ?? item.start);
    const end = lastKept === null && next !== undefined ? next.start : item.end;
    splices.push({ start, end, text: '' });
  }
  return splices;
}
