import type { AnswerBlocks } from './answer.ts';
import type { AnswerTerms, StreamWriter } from './answer-terms.ts';
import { ChatAnswer } from './chat-answer.ts';
import type { CollectedAnswer } from './collected-answer.ts';
import type { Conversation } from './conversation.ts';
import { MessagesAnswer } from './messages-answer.ts';
import type { ToolNames } from './names.ts';
import type { TranslationNotes } from './notes.ts';
import type { ClientFormName, ProviderFormName } from './pairs.ts';
import { readChatRequest } from './read-chat.ts';
import { readMessagesRequest } from './read-messages.ts';
import { readResponsesRequest } from './read-responses.ts';
import type { ShownUsage } from './shown-usage.ts';
import type { SimilarText } from './similar-text.ts';
import { ChatStreamWriter, wholeChatAnswer } from './write-chat-answer.ts';
import { MessagesStreamWriter, wholeMessagesAnswer } from './write-messages-answer.ts';
import { ResponsesStreamWriter, wholeResponsesAnswer } from './write-responses-answer.ts';

/** A protocol in which clients ask: how its requests are read, and its answers written. */
export interface ClientForm {
  read(body: Buffer, notes: TranslationNotes): Conversation;
  streamWriter(terms: AnswerTerms, names: ToolNames): AnswerBlocks & StreamWriter;
  whole(answer: CollectedAnswer, terms: AnswerTerms, names: ToolNames, usage: ShownUsage | null): string;
}

/** Reads the answer of a provider: events one by one, or a whole response. */
export interface AnswerReader {
  read(data: Buffer): void;
  /** Remembers events whose only effect is a text. Similar ones need not be read. */
  readonly similar: SimilarText;
  /** Size of what waits for the end of a block. */
  readonly keptBytes: number;
  end(): void;
}

/** Operations whose requests can be translated, by name. */
export const clientForms = {
  chat: {
    read: readChatRequest,
    streamWriter: (terms, names) => new ChatStreamWriter(terms, names),
    whole: wholeChatAnswer,
  },
  messages: {
    read: readMessagesRequest,
    streamWriter: (terms, names) => new MessagesStreamWriter(terms, names),
    whole: wholeMessagesAnswer,
  },
  responses: {
    read: readResponsesRequest,
    streamWriter: (terms, names) => new ResponsesStreamWriter(terms, names),
    whole: wholeResponsesAnswer,
  },
} as const satisfies Readonly<Record<ClientFormName, ClientForm>>;

/** Operations of providers to which requests can be translated, by name. */
export const answerReaders = {
  chat: (blocks: AnswerBlocks, callIds: readonly string[]): AnswerReader => new ChatAnswer(blocks, callIds),
  messages: (blocks: AnswerBlocks): AnswerReader => new MessagesAnswer(blocks),
} as const satisfies Readonly<
  Record<ProviderFormName, (blocks: AnswerBlocks, callIds: readonly string[]) => AnswerReader>
>;
