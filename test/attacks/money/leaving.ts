import type { Attack } from '../attack.ts';
import { words } from '../scene/bodies.ts';
import type { Scene } from '../scene/scene.ts';

interface Leaving {
  readonly what: string;
  readonly path: string;
  readonly body: (mark: string) => object;
  readonly script: string;
  /** Disconnects once this has arrived. */
  readonly at: string;
  /** Whether the gateway has to wait for the provider's usage. */
  readonly isAwaited: boolean;
}

/** Each model has its own record of speed. */
const chat = (mark: string, model = 'dear-chat'): object => ({
  model,
  user: mark,
  stream: true,
  messages: [{ role: 'user', content: words(200) }],
});
const toChat = { path: '/v1/chat/completions', body: chat };
const toThinker = { ...toChat, body: (mark: string) => chat(mark, 'dear-thinker') };
const toResponses = {
  path: '/v1/responses',
  body: (user: string) => ({ model: 'dear-thinker', user, stream: true, input: words(200) }),
};
const toMessages = {
  path: '/v1/messages',
  body: (mark: string) => ({
    model: 'dear-messages',
    metadata: { user_id: mark },
    max_tokens: 30_000,
    stream: true,
    messages: [{ role: 'user', content: words(200) }],
  }),
};
const toPictures = {
  path: '/v1/images/generations',
  body: (user: string) => ({ model: 'painter', user, stream: true, partial_images: 3, prompt: words(20) }),
};

const unseen = { script: 'think:20000', isAwaited: true };
const CASES: Readonly<Record<string, Leaving>> = {
  chat: { what: 'chat, left at finish_reason', ...toThinker, ...unseen, at: '"finish_reason":"stop"' },
  responses: { what: 'responses, left at output_item.done', ...toResponses, ...unseen, at: 'output_item.done' },
  messages: { what: 'messages, left at content_block_stop', ...toMessages, ...unseen, at: 'content_block_stop' },
  picture: {
    what: 'picture, left at the last partial one',
    ...toPictures,
    script: 'paint:3',
    at: '"partial_image_index":2',
    isAwaited: true,
  },
  speech: {
    what: 'chat, left in the middle of its words',
    ...toChat,
    script: 'speak:400',
    at: words(1),
    isAwaited: false,
  },
  thought: {
    what: 'chat, left while it thinks unseen',
    ...toThinker,
    script: 'ponder:4000',
    at: '"role":"assistant"',
    isAwaited: false,
  },
};

/** How long it listens to a stream before it disconnects. */
const LISTENED_MS = 700;

export const leaving: Attack = {
  name: 'leaving',
  sends: 'streams that are left: at the end of their output, at the last partial picture, and in the middle',
  seconds: 3,
  callers: {
    ...Object.fromEntries(Object.keys(CASES).map((name) => [name, { balanceYuan: '1000' }])),
    scholar: { balanceYuan: '1000' },
  },
  async run(scene) {
    // The gateway learns a model's hidden thinking and its speed from completed calls.
    await Promise.all(
      [1, 2].map(() =>
        scene.send({
          path: '/v1/chat/completions',
          key: scene.key('scholar'),
          body: chat(scene.mark('ponder:1500', 'scholar'), 'dear-thinker'),
        }),
      ),
    );
    await Promise.all(Object.entries(CASES).map(([caller, leftAs]) => leave(scene, caller, leftAs)));
  },
};

async function leave(scene: Scene, caller: string, { what, path, body, script, at, isAwaited }: Leaving) {
  const stream = await scene.open({ path, key: scene.key(caller), body: body(scene.mark(script, caller)) });
  if (!(await stream.until(at))) scene.problem(`${what}: ${stream.status}, and the stream has no ${at}`);
  // If the gateway waits for usage, the client disconnects at once, because usage follows within some hundred milliseconds.
  const held = isAwaited ? null : await scene.money(caller);
  if (!isAwaited) await new Promise((resolve) => setTimeout(resolve, LISTENED_MS));
  stream.leave();
  const settled = await scene.settle(caller, what, held?.heldNano);
  if (isAwaited) scene.expectBill(what, settled);
  else if (settled.chargedNano <= 0n) scene.problem(`${what}: it was free`);
}
