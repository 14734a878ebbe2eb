import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { JsonSyntaxError } from '../../src/lib/json/json-scan.ts';
import { noUsage, type Usage } from '../../src/protocols/metering/usage-facts.ts';
import { AnswerError } from '../../src/protocols/translation/answer.ts';
import { makerOf } from '../../src/protocols/translation/carriers.ts';
import { type ClientFormName, type ProviderFormName, translatedTo } from '../../src/protocols/translation/pairs.ts';
import { TranslatedStream } from '../../src/protocols/translation/translated-answer.ts';
import { type AnswerFacts, translateRequest } from '../../src/protocols/translation/translated-request.ts';
import { type ScriptedProvider, sse, startProvider } from '../support/provider.ts';
import { recordedStreams } from '../support/streams.ts';
import { chatRefusal } from '../support/strict-chat.ts';
import { messagesRefusal } from '../support/strict-messages.ts';
import { type Transcript, targetOf } from '../support/transcripts.ts';

/**
 * Translations as reviewed files: requests that clients really sent, with a provider's stream (`<client form>-to-<provider form>/`), and all
 * recorded streams (`streams/`). The vendors' own helpers read each translated stream.
 *
 * `npm run agents -- --record` records the requests anew. `node test/translation/golden.test.ts --update` writes the expected sides:
 * `providerRequest`, `leftOut`, `added` and `clientStream`, and the files of `streams/`. Then run `npm run format`, and review the difference.
 */
const FOLDER = fileURLToPath(new URL('../fixtures/translation', import.meta.url));
const updates = process.argv.includes('--update');
const CALL = { callId: 'call_1', startedAtMs: 1_767_225_600_000 };
const USAGE: Usage = { ...noUsage, inputTokens: 1000, cachedInputTokens: 500, outputTokens: 20 };

/** What a client reads, whatever its protocol: texts, and calls of tools with their arguments. */
interface ReadAnswer {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
}

let server: ScriptedProvider;
before(async () => {
  server = await startProvider();
});
after(() => server.close());

const readers: Readonly<Record<ClientFormName, () => Promise<ReadAnswer>>> = {
  async chat() {
    const { chat } = new OpenAI({ apiKey: 'k', baseURL: server.url, maxRetries: 0 });
    const { choices } = await chat.completions.stream({ model: 'm', messages: [] }).finalChatCompletion();
    const { content, refusal, tool_calls = [] } = choices[0]!.message;
    return {
      text: (content ?? '') + (refusal ?? ''),
      calls: tool_calls.map((call) =>
        call.type === 'function'
          ? { name: call.function.name, input: parsed(call.function.arguments) }
          : { name: call.custom.name, input: call.custom.input },
      ),
    };
  },
  async messages() {
    const { messages } = new Anthropic({ apiKey: 'k', baseURL: server.url, maxRetries: 0 });
    const { content } = await messages.stream({ model: 'm', messages: [], max_tokens: 1 }).finalMessage();
    return {
      text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      calls: content.flatMap((block) => (block.type === 'tool_use' ? [{ name: block.name, input: block.input }] : [])),
    };
  },
  async responses() {
    const { responses } = new OpenAI({ apiKey: 'k', baseURL: server.url, maxRetries: 0 });
    const { output } = await responses.stream({ model: 'm', input: [] }).finalResponse();
    return {
      text: output
        .flatMap((item) => (item.type === 'message' ? item.content : []))
        .map((part) => (part.type === 'output_text' ? part.text : part.refusal))
        .join(''),
      calls: output.flatMap((item) => {
        if (item.type === 'function_call') return [{ name: item.name, input: parsed(item.arguments) }];
        return item.type === 'custom_tool_call' ? [{ name: item.name, input: item.input }] : [];
      }),
    };
  },
};

const parsed = (args: string): unknown => JSON.parse(args === '' ? '{}' : args);

/** Reads a stream by the helper of the vendor, over HTTP. */
function readBy(form: ClientFormName, stream: readonly string[]): Promise<ReadAnswer> {
  server.respond = sse(stream);
  return readers[form]();
}

/** Translates events one by one. The rest of a stream that cannot be translated is its error. */
function translatedStream(
  facts: AnswerFacts,
  events: readonly string[],
  usage: Usage | null,
  isComplete = true,
): string[] {
  const stream = new TranslatedStream(facts, CALL);
  const written: Buffer[] = [];
  try {
    for (const event of events) written.push(stream.push(Buffer.from(event)));
    if (isComplete) written.push(stream.close(), stream.end(usage));
  } catch (error) {
    if (!(error instanceof AnswerError) && !(error instanceof JsonSyntaxError)) throw error;
    written.push(Buffer.from(`not translated: ${error.message}\n\n`));
  }
  return (
    Buffer.concat(written)
      .toString('utf8')
      .match(/[\s\S]+?\n\n/g) ?? []
  );
}

describe('requests that clients sent, and their answers', () => {
  for (const [client, targets] of Object.entries(translatedTo) as [ClientFormName, readonly ProviderFormName[]][]) {
    for (const target of targets) {
      const folder = join(FOLDER, `${client}-to-${target}`);
      for (const name of readdirSync(folder)) {
        test(`${client} to ${target}: ${name.replace('.json', '')}`, () =>
          checkTranscript(join(folder, name), client, target));
      }
    }
  }
});

async function checkTranscript(file: string, client: ClientFormName, target: ProviderFormName): Promise<void> {
  const transcript = JSON.parse(readFileSync(file, 'utf8')) as Transcript;
  const { request, providerStream } = transcript;
  const body = Buffer.from(JSON.stringify(request));
  const translated = translateRequest({ client, body, model: request.model }, targetOf(target));
  const actual: Transcript = {
    client: transcript.client,
    request,
    providerRequest: JSON.parse(Buffer.from(translated.body).toString('utf8')),
    leftOut: translated.leftOut,
    added: translated.added,
    providerStream,
    // The length of the request varies with its spelling.
    clientStream: translatedStream({ ...translated.answer, textBytes: 5000 }, providerStream, USAGE),
  };
  if (updates) writeFileSync(file, `${JSON.stringify(actual, null, 2)}\n`);
  else assert.deepEqual(actual, transcript);

  assert.equal(refusalOf(actual.providerRequest, target), null, 'what a strict provider says');
  const original = await readBy(target, providerStream);
  const read = await readBy(client, actual.clientStream);
  assert.equal(read.text, original.text);
  assert.deepEqual(
    read.calls.map(({ input }) => input),
    original.calls.map(({ name, input }) =>
      isCustom(translated.answer, name) ? (input as { input: string }).input : input,
    ),
  );
}

/** What a strict provider says to a translated request whose reasoning it wrote. */
function refusalOf(sent: object, target: ProviderFormName): string | null {
  const { form, dialect } = targetOf(target);
  if (form === 'chat') return chatRefusal(sent, { dialect });
  const { messages } = sent as { messages: readonly { content: readonly Record<string, string>[] }[] };
  const thoughts = messages.flatMap(({ content }) => content).filter(({ type }) => type === 'thinking');
  const issued = new Map(thoughts.map(({ signature, thinking }) => [signature!, thinking!]));
  return messagesRefusal(sent, { dialect, issued });
}

function isCustom({ tools }: AnswerFacts, name: string): boolean {
  return tools.some((tool) => tool.form === 'custom' && name.endsWith(tool.name));
}

describe('recorded streams, translated', () => {
  for (const { name, protocol, events, failing, outcome } of recordedStreams) {
    if (protocol !== 'chat' && protocol !== 'messages') continue;
    const clients = (Object.keys(translatedTo) as ClientFormName[]).filter((form) =>
      (translatedTo[form] as readonly string[]).includes(protocol),
    );
    for (const client of clients) {
      test(`${name} for ${client}`, async () => {
        const facts: AnswerFacts = {
          client,
          provider: protocol,
          maker: makerOf(`only-${protocol}`),
          model: 'acme-coder',
          tools: [],
          showsReasoning: true,
          callIds: [],
          reportsUsage: true,
          textBytes: 5000,
        };
        // The relay ends a stream at an error event.
        const [used, isComplete] = failing === null ? [events, true] : [events.slice(0, failing), false];
        const actual = translatedStream(facts, used, outcome.usage, isComplete);
        const file = join(FOLDER, 'streams', client, `${name}.sse`);
        mkdirSync(dirname(file), { recursive: true });
        if (updates) writeFileSync(file, actual.join(''));
        else assert.equal(actual.join(''), readFileSync(file, 'utf8'));
        if (!isComplete || actual.some((event) => event.startsWith('not translated'))) return;
        assert.deepEqual(await readBy(client, actual), await readBy(protocol, events));
      });
    }
  }
});
