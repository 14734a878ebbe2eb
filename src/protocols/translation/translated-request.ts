import { splice } from '../operations/json-operation.ts';
import { type MemberParameters, parameterChanges } from '../parameters/parameters.ts';
import type { Conversation, Tool } from './conversation.ts';
import type { ChatDialect, MessagesDialect } from './dialect.ts';
import { clientForms } from './forms.ts';
import { TranslationNotes } from './notes.ts';
import type { ClientFormName } from './pairs.ts';
import { textBytesOf } from './text-size.ts';
import { writeChatRequest } from './write-chat.ts';
import { writeMessagesRequest } from './write-messages.ts';

/** Where a request goes: the protocol of the provider, and what is special about it. All values are plain. */
export type TranslationTarget = {
  readonly maker: string;
  readonly outputTokensMax: number | null;
  /** Changes of the translated body; absent: there are none. */
  readonly parameters?: readonly MemberParameters[];
} & (
  | { readonly form: 'chat'; readonly dialect: ChatDialect }
  | { readonly form: 'messages'; readonly dialect: MessagesDialect }
);

/** A request in the form of the provider, and what its answer needs. All values are plain, so that they can be copied between threads. */
export interface TranslatedRequest {
  readonly body: Uint8Array;
  readonly answer: AnswerFacts;
  /** Members that the provider does not get, and those that were added. */
  readonly leftOut: readonly string[];
  readonly added: readonly string[];
  /** Members to which parameters of the route gave another value. */
  readonly changed: readonly string[];
}

/** What the answer needs of the request. */
export interface AnswerFacts {
  readonly client: ClientFormName;
  readonly provider: 'chat' | 'messages';
  readonly maker: string;
  readonly model: string;
  readonly tools: readonly Pick<Tool, 'form' | 'name' | 'namespace'>[];
  readonly showsReasoning: boolean;
  /** Whether a chat client asked for usage at the end of its stream. */
  readonly reportsUsage: boolean;
  /** Ids of the calls in the conversation, as the client knows them. */
  readonly callIds: readonly string[];
  /** Size of the text that the model reads, without media. */
  readonly textBytes: number;
}

interface AskedRequest {
  readonly client: ClientFormName;
  /** Valid JSON, checked by the client's operation. */
  readonly body: Buffer;
  /** The model as the client calls it. */
  readonly model: string;
  /** The model as the provider calls it; absent: as the client does. If it is written at once, no large body is copied to replace it. */
  readonly providerModel?: string;
}

/**
 * Translates a request.
 * @throws GatewayError `invalidRequest` with the client's member if the provider's protocol cannot express the request
 */
export function translateRequest(
  { client, body, model, providerModel = model }: AskedRequest,
  target: TranslationTarget,
): TranslatedRequest {
  const notes = new TranslationNotes(target.form);
  const conversation = clientForms[client].read(body, notes);
  const written = Buffer.from(writeRequest(conversation, { ...target, model: providerModel }, notes));
  const changes = target.parameters === undefined ? null : parameterChanges(written, target.parameters);
  return {
    body: changes === null ? written : splice(written, changes.splices),
    answer: {
      client,
      provider: target.form,
      maker: target.maker,
      model,
      tools: conversation.tools.map(({ form, name, namespace }) => ({ form, name, namespace })),
      showsReasoning: conversation.settings.reasoning.isShown,
      reportsUsage: conversation.reportsUsage,
      callIds: conversation.turns.flatMap(({ blocks }) =>
        blocks.flatMap((block) => (block.kind === 'call' ? [block.id] : [])),
      ),
      textBytes: textBytesOf(conversation),
    },
    leftOut: [...notes.leftOut, ...(changes?.leftOut ?? [])],
    added: [...notes.added, ...(changes?.added ?? [])],
    changed: changes?.changed ?? [],
  };
}

function writeRequest(
  conversation: Conversation,
  target: TranslationTarget & { readonly model: string },
  notes: TranslationNotes,
): string {
  if (target.form === 'chat') return writeChatRequest(conversation, target, notes);
  const { outputTokensMax } = target;
  if (outputTokensMax === null) throw new Error('a model that is translated to messages has no output limit');
  return writeMessagesRequest(conversation, { ...target, outputTokensMax }, notes);
}
