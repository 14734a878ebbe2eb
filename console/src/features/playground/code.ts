import { type CallTarget, chatBase, messagesBase, quoted } from '../../parts/calling/call-target.ts';
import { POST } from '../../parts/calling/post.ts';
import { addressOf, type CalledOperation } from '../../parts/calling/run-call.ts';

export const CODE_LANGUAGES = ['curl', 'Python', 'TypeScript'] as const;
export type CodeLanguage = (typeof CODE_LANGUAGES)[number];

/** Environment variable that the code reads the key from, so that it can be shared. */
const KEY = 'FAREGATE_KEY';

type Write = (operation: CalledOperation, target: CallTarget, body: object) => string;

const WRITE: Readonly<Record<CodeLanguage, Write>> = { curl, Python: python, TypeScript: typescript };

/** Code that makes the call with this body. The SDKs are those of the vendors of the protocols. */
export function codeOf(language: CodeLanguage, operation: CalledOperation, target: CallTarget, body: object): string {
  return WRITE[language](operation, target, body);
}

/** The code without the content of images, to show it. */
export function shortened(code: string): string {
  return code.replace(/[A-Za-z0-9+/=]{200,}/g, (content) => `${content.slice(0, 24)}…`);
}

function curl(operation: CalledOperation, target: CallTarget, body: object): string {
  const header: [string, string] =
    operation === 'chat' ? ['Authorization', `Bearer $${KEY}`] : ['x-api-key', `$${KEY}`];
  return POST.unix({ url: addressOf(target, operation), header, body });
}

function python(operation: CalledOperation, target: CallTarget, body: object): string {
  const [given, isChat] = [withoutStream(body), operation === 'chat'];
  const fields = Object.entries(given).map(([name, value]) => `    ${name}=${pythonValue(value, 1)},`);
  const head = (module: string, client: string, base: string) =>
    `import os\n\nfrom ${module} import ${client}\n\nclient = ${client}(base_url=${quoted(base)}, api_key=os.environ["${KEY}"])\n`;
  return isChat
    ? `${head('openai', 'OpenAI', chatBase(target))}stream = client.chat.completions.create(
${[...fields, '    stream=True,'].join('\n')}
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`
    : `${head('anthropic', 'Anthropic', messagesBase(target))}with client.messages.stream(
${fields.join('\n')}
) as stream:
    for text in stream.text_stream:
        print(text, end="", flush=True)`;
}

function typescript(operation: CalledOperation, target: CallTarget, body: object): string {
  const head = (module: string, client: string, base: string) =>
    `import ${client} from '${module}';\n\nconst client = new ${client}({ baseURL: ${quoted(base)}, apiKey: process.env.${KEY} });\n`;
  const [withStream, without] = [body, withoutStream(body)].map((each) => JSON.stringify(each, null, 2));
  return operation === 'chat'
    ? `${head('openai', 'OpenAI', chatBase(target))}const stream = await client.chat.completions.create(${withStream});
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '');`
    : `${head('@anthropic-ai/sdk', 'Anthropic', messagesBase(target))}const stream = client.messages.stream(${without});
stream.on('text', (text) => process.stdout.write(text));
await stream.finalMessage();`;
}

function withoutStream(body: object): object {
  return Object.fromEntries(Object.entries(body).filter(([name]) => name !== 'stream'));
}

/** JSON is Python if it has no `true`, `false` or `null`, which bodies do not have apart from `stream`. */
function pythonValue(value: unknown, depth: number): string {
  return JSON.stringify(value, null, 4).replaceAll('\n', `\n${'    '.repeat(depth)}`);
}
