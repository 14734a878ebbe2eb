import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GatewayError } from '../../errors/gateway-error.ts';
import { optionalMembers, type RefusedMember, refusedMembers } from './client-members.ts';
import { PLAIN_CHAT, PLAIN_MESSAGES } from './dialect.ts';
import { memberLabel } from './member-labels.ts';
import { type ClientFormName, clientFormNames } from './pairs.ts';
import { type TranslationTarget, translateRequest } from './translated-request.ts';

const BASE = {
  chat: { messages: [{ role: 'user', content: 'a' }] },
  messages: { max_tokens: 9, messages: [{ role: 'user', content: 'a' }] },
  responses: { input: 'a' },
};

function translate(client: ClientFormName, members: object, takes: readonly string[] = []) {
  const about = { maker: 'AAAAAAAAAAA', outputTokensMax: 100 };
  const target: TranslationTarget =
    client === 'chat'
      ? { ...about, form: 'messages', dialect: { ...PLAIN_MESSAGES, takes: new Set(takes) } }
      : { ...about, form: 'chat', dialect: { ...PLAIN_CHAT, takes: new Set(takes) } };
  const body = Buffer.from(JSON.stringify({ model: 'm', ...BASE[client], ...members }));
  const { body: written, leftOut } = translateRequest({ client, body, model: 'm' }, target);
  return { text: Buffer.from(written).toString('utf8'), leftOut };
}

/** A value that is refused, and one that is not; `null` if all are refused. */
function samplesOf(values: RefusedMember['values']): readonly [unknown, unknown] {
  if (values === 'any') return [{ a: 1 }, null];
  if (values === 'true') return [true, false];
  if (values === 'filled') return [{ a: 1 }, {}];
  if ('above' in values) return [values.above + 1, values.above];
  return 'otherThan' in values ? ['another', values.otherThan[0]] : [['another'], values.itemsOtherThan.slice(0, 1)];
}

for (const client of clientFormNames) {
  describe(`members of ${client} clients`, () => {
    for (const { name, values, reason } of refusedMembers[client]) {
      it(`refuse ${name}, unless its value changes nothing`, () => {
        const [refused, accepted] = samplesOf(values);
        assert.throws(
          () => translate(client, { [name]: refused }),
          (error) => error instanceof GatewayError && error.param === name && error.message.includes(reason),
        );
        const { text, leftOut } = translate(client, { [name]: accepted });
        assert.ok(!text.includes(`"${name}"`) && !leftOut.includes(name));
      });
    }

    it('are sent if the dialect takes them, and otherwise left out under a name that metrics have', () => {
      for (const { path, name } of optionalMembers[client]) {
        const [first, second] = path.split('.') as [string, string | undefined];
        const members = { [first]: second === undefined ? 'canary' : { [second]: 'canary' } };
        assert.ok(translate(client, members, [name]).text.includes('canary'), path);
        const { text, leftOut } = translate(client, members);
        assert.ok(!text.includes('canary'), path);
        assert.deepEqual(leftOut, [path]);
        assert.equal(memberLabel(path), path);
      }
    });
  });
}
