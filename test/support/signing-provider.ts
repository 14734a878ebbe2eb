import {
  chatCompletion,
  chatUsage,
  event,
  json,
  message,
  messagesUsage,
  type ReceivedRequest,
  type Respond,
  sse,
} from './provider.ts';
import { responseObject, responsesStream } from './responses.ts';

/** A vendor that signs its thinking, and refuses other thinking with the vendors' own error messages. */
export interface Signer {
  readonly respond: Respond;
  /** The signatures of each accepted call. */
  readonly accepted: (readonly string[])[];
  /** Number of calls refused because of a signature. */
  refusals: number;
  /** Replaces the response, unless `null`. */
  fault: Respond | null;
  /** Whether it accepts thinking that another provider signed. */
  isLenient: boolean;
  /** Whether it refuses signatures in the first event of a stream. */
  refusesInStream: boolean;
}

type SignedKind = 'messages' | 'responses' | 'chat';

export interface SignedRequest {
  readonly stream?: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: the history is whatever clients send
  readonly messages?: any[];
  // biome-ignore lint/suspicious/noExplicitAny: the history is whatever clients send
  readonly input?: any;
}

/** `nameOf`: the provider account of a request, which determines its signatures. */
export function createSigner(nameOf: (request: ReceivedRequest) => string): Signer {
  let made = 0;
  const signer: Signer = {
    accepted: [],
    refusals: 0,
    fault: null,
    isLenient: false,
    refusesInStream: false,
    respond(request, response) {
      const kind = kindOf(request.path);
      const body = JSON.parse(request.body.toString()) as SignedRequest;
      const name = nameOf(request);
      const signatures = signaturesOf(kind, body);
      if (signer.fault !== null) return signer.fault(request, response);
      if (!signer.isLenient && signatures.some((each) => !each.startsWith(`${name}-`))) {
        signer.refusals++;
        const inStream = signer.refusesInStream && body.stream === true;
        return (inStream ? sse(REFUSED_STREAM) : json(400, FOREIGN[kind]))(request, response);
      }
      signer.accepted.push(signatures);
      return RESPONSES[kind](`${name}-${++made}`, body.stream === true)(request, response);
    },
  };
  return signer;
}

export function kindOf(path: string): SignedKind {
  if (path.includes('/messages')) return 'messages';
  return path.includes('/responses') ? 'responses' : 'chat';
}

export function signaturesOf(kind: SignedKind, { messages = [], input }: SignedRequest): string[] {
  const blocks = kind === 'responses' ? (Array.isArray(input) ? input : []) : messages.flatMap(blocksOf);
  return blocks
    .flatMap(({ signature, data, encrypted_content: content }) => [signature, data, content])
    .filter((each) => typeof each === 'string');
}

// biome-ignore lint/suspicious/noExplicitAny: the history is whatever clients send
const blocksOf = ({ content, reasoning_details: details }: any): any[] => [
  ...(Array.isArray(content) ? content : []),
  ...(Array.isArray(details) ? details : []),
];

/** The messages of Anthropic, OpenAI, and OpenRouter, which wraps a vendor's message. */
export const FOREIGN = {
  messages: {
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
    },
  },
  responses: {
    error: {
      message: 'The encrypted content gAAA...Rg== could not be verified.',
      type: 'invalid_request_error',
      param: null,
      code: 'invalid_encrypted_content',
    },
  },
  chat: {
    error: {
      message: 'Provider returned error',
      code: 400,
      metadata: {
        raw: '{"message":"messages.1.content.0: Invalid `signature` in `thinking` block"}',
        provider_name: 'Acme',
      },
    },
  },
} as const;

const { type: _, ...refusal } = FOREIGN.responses.error;
const REFUSED_STREAM = [responsesStream()[0]!, event('error', { ...refusal, sequence_number: 1 })];

const RESPONSES: Readonly<Record<SignedKind, (signature: string, isStream: boolean) => Respond>> = {
  messages(signature, isStream) {
    // One block of each kind: visible and redacted thinking.
    const content = [
      { type: 'thinking', thinking: 'Hm.', signature },
      { type: 'redacted_thinking', data: `${signature}-redacted` },
      { type: 'text', text: 'Hello' },
    ];
    const whole = { ...message(messagesUsage), content };
    return isStream ? sse(streamedMessage(whole, content, signature)) : json(200, whole);
  },
  responses(signature, isStream) {
    const item = { id: `rs_${signature}`, type: 'reasoning', summary: [], encrypted_content: signature };
    const response = responseObject({ id: `resp_${signature}` });
    if (isStream) {
      const added = event('response.output_item.added', { output_index: 0, item: { ...item, encrypted_content: '' } });
      const [created, ...rest] = responsesStream({ items: [item], response: { id: response.id } });
      return sse([created!, added, ...rest]);
    }
    return json(200, { ...response, output: [item, ...response.output] });
  },
  chat(signature, isStream) {
    const details = [{ type: 'reasoning.encrypted', data: signature, id: null, format: 'acme-v1', index: 0 }];
    const completion = chatCompletion();
    const [choice] = completion.choices;
    if (!isStream) {
      const withDetails = { ...choice, message: { ...choice!.message, reasoning_details: details } };
      return json(200, { ...completion, choices: [withDetails] });
    }
    const chunk = (rest: object): string =>
      `data: ${JSON.stringify({ ...completion, object: 'chat.completion.chunk', usage: null, ...rest })}\n\n`;
    const delta = (change: object, reason: string | null = null) => ({
      choices: [{ index: 0, delta: change, finish_reason: reason }],
    });
    return sse([
      chunk(delta({ role: 'assistant', content: '', reasoning_details: details })),
      chunk(delta({ content: 'Hello there' })),
      chunk(delta({}, 'stop')),
      chunk({ choices: [], usage: chatUsage }),
      'data: [DONE]\n\n',
    ]);
  },
};

function streamedMessage(whole: object, [, redacted]: readonly object[], signature: string): string[] {
  const block = (index: number, content_block: object, ...deltas: readonly object[]): string[] => [
    event('content_block_start', { index, content_block }),
    ...deltas.map((delta) => event('content_block_delta', { index, delta })),
    event('content_block_stop', { index }),
  ];
  return [
    event('message_start', { message: { ...whole, content: [], stop_reason: null } }),
    ...block(
      0,
      { type: 'thinking', thinking: '', signature: '' },
      { type: 'thinking_delta', thinking: 'Hm.' },
      { type: 'signature_delta', signature },
    ),
    ...block(1, redacted!),
    ...block(2, { type: 'text', text: '' }, { type: 'text_delta', text: 'Hello' }),
    event('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: { output_tokens: messagesUsage.output_tokens },
    }),
    event('message_stop'),
  ];
}
