import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { MAKER } from '../../../test/support/generated-request-parts.ts';
import { requestsOf } from '../../../test/support/generated-requests.ts';
import { more, type Said, said } from '../../../test/support/generated-said.ts';
import { chatRefusal } from '../../../test/support/strict-chat.ts';
import { messagesRefusal } from '../../../test/support/strict-messages.ts';
import { GatewayError } from '../../errors/gateway-error.ts';
import { type ChatDialect, EFFORTS, type MessagesDialect } from './dialect.ts';
import { type ClientFormName, translatedTo } from './pairs.ts';
import { translateRequest } from './translated-request.ts';

/** Any request that a client can write is refused by name, or every provider accepts its translation, which has all of its content. */

const lists = {
  takes: fc
    .subarray(['user', 'seed', 'strict', 'cache_control', 'json_schema', 'top_k', 'prompt_cache_key'])
    .map((names) => new Set(names)),
  drops: fc
    .subarray(['temperature', 'top_p', 'stop', 'stop_sequences', 'parallel_tool_calls', 'top_k'])
    .map((names) => new Set(names)),
  efforts: fc.subarray([...EFFORTS], { minLength: 1 }),
  laterSystem: fc.constantFrom('user' as const, 'system' as const),
};
const chatDialect: fc.Arbitrary<ChatDialect> = fc.record({
  ...lists,
  reasoning: fc.constantFrom<ChatDialect['reasoning'][]>(
    'effort',
    'thinking',
    'enable_thinking',
    'openrouter',
    'template',
    'none',
  ),
  replay: fc.constantFrom<ChatDialect['replay'][]>('none', 'reasoning_content', 'reasoning', 'reasoning_details'),
  toolMedia: fc.constantFrom('user' as const, 'tool' as const),
  maxTokens: fc.constantFrom('max_tokens' as const, 'max_completion_tokens' as const),
});
const messagesDialect: fc.Arbitrary<MessagesDialect> = fc.record({
  ...lists,
  laterSystem: fc.constant('user' as const),
  thinking: fc.constantFrom<MessagesDialect['thinking'][]>('adaptive', 'budget', 'none'),
  promptCache: fc.constantFrom('auto' as const, 'off' as const),
});
const base = { maker: MAKER, outputTokensMax: 64_000 };
const targets = {
  chat: chatDialect.map((dialect) => ({ ...base, form: 'chat' as const, dialect })),
  messages: messagesDialect.map((dialect) => ({ ...base, form: 'messages' as const, dialect })),
};
type Target = typeof targets extends Record<string, fc.Arbitrary<infer Value>> ? Value : never;

/** Translates a request; `null` if it is refused, with the status and the member of the client. */
function translated(client: ClientFormName, given: Said, target: Target) {
  const { request, issued } = requestsOf[client](given);
  try {
    const { body, leftOut } = translateRequest(
      { client, body: Buffer.from(JSON.stringify(request)), model: 'm' },
      target,
    );
    const text = Buffer.from(body).toString('utf8');
    return { request, issued, leftOut, text, json: JSON.parse(text) };
  } catch (error) {
    assert.ok(error instanceof GatewayError && error.kind === 'invalidRequest' && error.param, String(error));
    return null;
  }
}

/** The messages of a body without its end, which is different if something follows. */
const messagesOf = (text: string): string => text.slice(text.indexOf('"messages":[')).replace(/\]\}\]\}$|\]\}$/, '');
const withoutReasoning = (given: Said): Said => ({
  ...given,
  exchanges: given.exchanges.map((each) => ({ ...each, reasoning: 'none' as const })),
});
const KNOWN = new Set(['user', 'strict', 'top_k', 'cache_control']);
const marksIn = (text: string): number => text.split('"cache_control":').length - 1;

const canariesIn = (text: string): Set<string> => new Set(text.match(/c\d+c/g));

for (const [client, forms] of Object.entries(translatedTo) as [ClientFormName, readonly ('chat' | 'messages')[]][]) {
  for (const form of forms) {
    describe(`any request of ${client} for a provider of ${form}`, () => {
      it('is accepted by a strict provider, with all content, and with each other member or its name', () => {
        let accepted = 0;
        fc.assert(
          fc.property(said, targets[form], (given, target) => {
            const done = translated(client, given, target);
            if (done === null) return;
            accepted++;
            const { request, issued, leftOut, text, json } = done;
            const refusal =
              target.form === 'chat'
                ? chatRefusal(json, { dialect: target.dialect, issued })
                : messagesRefusal(json, { dialect: target.dialect, issued });
            assert.equal(refusal, null, `${refusal}: ${text}`);
            const arrived = canariesIn(text);
            const missing = [...canariesIn(JSON.stringify(request))].filter((each) => !arrived.has(each));
            assert.deepEqual(missing, [], text);
            const odd = new Set(JSON.stringify(request).match(/zz_[a-z]+/g));
            const listed = leftOut.join(' ');
            if (marksIn(text) < marksIn(JSON.stringify(request))) assert.ok(listed.includes('cache_control'), text);
            for (const name of odd)
              assert.ok(listed.includes(name) || text.includes(name), `${name} is neither sent nor listed`);
          }),
          { numRuns: 300 },
        );
        assert.ok(accepted > 50, `only ${accepted} requests were accepted`);
      });

      it('begins with the messages of a shorter conversation', () => {
        fc.assert(
          fc.property(said, more, targets[form], (given, rest, target) => {
            const shorter = { ...given, system: [], last: [] };
            const longer = { ...shorter, exchanges: [...given.exchanges, ...rest], last: given.last };
            const [one, other] = [translated(client, shorter, target), translated(client, longer, target)];
            if (one === null || other === null || one.json.messages.at(-1).role === 'assistant') return;
            const begun = messagesOf(one.text);
            assert.equal(messagesOf(other.text).slice(0, begun.length), begun);
          }),
        );
      });

      it('is the same request if it is translated again', () => {
        fc.assert(
          fc.property(said, targets[form], (given, { dialect, ...target }) => {
            const again =
              target.form === 'chat'
                ? {
                    ...target,
                    dialect: { ...(dialect as ChatDialect), reasoning: 'effort' as const, efforts: EFFORTS },
                  }
                : {
                    ...target,
                    dialect: { ...(dialect as MessagesDialect), promptCache: 'off' as const, takes: KNOWN },
                  };
            // Thinking of a messages provider comes back in carriers alone.
            const plain = form === 'chat' ? given : withoutReasoning(given);
            const once = translated(client, plain, again as Target);
            if (once === null || once.text.includes('fgid_')) return;
            // System messages at the beginning are read as one. They are two only if a later one follows no user.
            if (once.json.messages[0]?.role === 'system' && once.json.messages[1]?.role === 'system') return;
            const { body } = translateRequest(
              { client: form, body: Buffer.from(once.text), model: 'm' },
              again as Target,
            );
            const text = Buffer.from(body).toString('utf8');
            assert.equal(messagesOf(text), messagesOf(once.text));
            assert.deepEqual(JSON.parse(text), once.json);
          }),
        );
      });
    });
  }
}
