import { chatBase, messagesBase, quoted } from '../../parts/calling/call-target.ts';
import { POST } from '../../parts/calling/post.ts';
import type { Client, Operation, Wanted } from './wanted.ts';

const DEFAULT_OUTPUT_TOKENS = 512;

export const PROGRAMS: readonly Client[] = [
  program('curl', 'chat', (wanted) => [{ file: null, code: chatCall(wanted) }]),
  program('curl (messages)', 'messages', (wanted) => [{ file: null, code: messagesCall(wanted) }]),
  program('OpenAI SDK (JavaScript)', 'chat', (wanted) => [
    { file: null, code: 'npm install openai' },
    {
      file: 'chat.mjs',
      code: `import OpenAI from 'openai';

const client = new OpenAI({ baseURL: ${quoted(chatBase(wanted))}, apiKey: ${quoted(wanted.key)} });
const stream = await client.chat.completions.create({
  model: ${quoted(wanted.model)},
  messages: [{ role: 'user', content: 'Hello!' }],
  stream: true,
});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');`,
    },
  ]),
  program('OpenAI SDK (Python)', 'chat', (wanted) => [
    { file: null, code: 'pip install openai' },
    {
      file: 'chat.py',
      code: `from openai import OpenAI

client = OpenAI(base_url=${quoted(chatBase(wanted))}, api_key=${quoted(wanted.key)})
stream = client.chat.completions.create(
    model=${quoted(wanted.model)},
    messages=[{"role": "user", "content": "Hello!"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`,
    },
  ]),
  program('Anthropic SDK (JavaScript)', 'messages', (wanted) => [
    { file: null, code: 'npm install @anthropic-ai/sdk' },
    {
      file: 'messages.mjs',
      code: `import Anthropic from '@anthropic-ai/sdk';

const client = new Anthropic({ baseURL: ${quoted(messagesBase(wanted))}, apiKey: ${quoted(wanted.key)} });
const message = await client.messages.create({
  model: ${quoted(wanted.model)},
  max_tokens: ${DEFAULT_OUTPUT_TOKENS},
  messages: [{ role: 'user', content: 'Hello!' }],
});
for (const block of message.content) if (block.type === 'text') console.log(block.text);`,
    },
  ]),
  program('Anthropic SDK (Python)', 'messages', (wanted) => [
    { file: null, code: 'pip install anthropic' },
    {
      file: 'messages.py',
      code: `from anthropic import Anthropic

client = Anthropic(base_url=${quoted(messagesBase(wanted))}, api_key=${quoted(wanted.key)})
message = client.messages.create(
    model=${quoted(wanted.model)},
    max_tokens=${DEFAULT_OUTPUT_TOKENS},
    messages=[{"role": "user", "content": "Hello!"}],
)
for block in message.content:
    if block.type == "text":
        print(block.text)`,
    },
  ]),
];

function program(name: string, operation: Operation, settings: Client['settings']): Client {
  return { name, operation, isLasting: false, checked: null, settings };
}

function chatCall(wanted: Wanted): string {
  return POST[wanted.system]({
    url: `${chatBase(wanted)}/chat/completions`,
    header: ['Authorization', `Bearer ${wanted.key}`],
    body: { model: wanted.model, stream: true, messages: [{ role: 'user', content: 'Hello!' }] },
  });
}

function messagesCall(wanted: Wanted): string {
  const messages = [{ role: 'user', content: 'Hello!' }];
  return POST[wanted.system]({
    url: `${messagesBase(wanted)}/v1/messages`,
    header: ['x-api-key', wanted.key],
    body: { model: wanted.model, max_tokens: DEFAULT_OUTPUT_TOKENS, stream: true, messages },
  });
}
