import type { HistoryRow } from '../../../accounting/history/history-store.ts';
import { type AccountBooks, toInstant } from './account-books.ts';
import type { MonthScene } from './accounts.ts';
import type { CallKind } from './made-call.ts';

/** Why a call was not taken, as clients of the chat family are told. */
const REASONS = {
  insufficientBalance: {
    status: 402,
    code: 'insufficient_balance',
    message: 'The balance is used up or held by calls in flight. Top up, or wait for them to finish.',
  },
  suspended: { status: 401, code: 'invalid_api_key', message: 'The account of this API key is suspended.' },
  unverified: { status: 401, code: 'invalid_api_key', message: 'The account of this API key is not verified.' },
} as const;

const PATHS: Readonly<Record<CallKind['operation'], string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
  embeddings: '/v1/embeddings',
  rerank: '/v1/rerank',
  'images.generate': '/v1/images/generations',
};

interface RefusedCall {
  readonly books: AccountBooks;
  readonly keyId: string;
  readonly kind: CallKind;
  readonly atMs: number;
}

/** The record of a refusal. */
export function refusalRow(
  why: keyof typeof REASONS,
  { books, keyId, kind, atMs }: RefusedCall,
  { idsAt }: MonthScene,
): HistoryRow {
  return {
    id: idsAt(atMs).next('req'),
    at: toInstant(atMs),
    count: 1,
    account_id: books.account.id,
    key_id: keyId,
    // An address for documents (RFC 5737).
    client_address: '192.0.2.17',
    method: 'POST',
    path: PATHS[kind.operation],
    operation: kind.operation,
    model: kind.model,
    ...REASONS[why],
  };
}
