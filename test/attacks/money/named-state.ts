import { type StatePlace, statePlaces, type TableName, tableNames } from '../../support/state-places.ts';
import type { Attack } from '../attack.ts';

interface Created {
  readonly id: string;
  readonly output: readonly { readonly id: string }[];
}

const PATHS: Readonly<Record<TableName, string>> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};

/** Members that no vendor has yet, with an id of another account. */
const NEW_PLACES: readonly ((id: string) => object)[] = [
  (id) => ({ continue_from: id }),
  (id) => ({ session: { resume: [id] } }),
  (id) => ({ extra_body: { state: { of: id } } }),
  (id) => ({ tools: [{ type: 'new_search', response_id: id }] }),
  (id) => ({ tools: [{ type: 'web_search', name: 'web_search', seen_in: id }] }),
];

/** Tries every 16th place in the tables; `test/requests/state-places.test.ts` tries all of them. */
const STRIDE = 16;

/** One account refers to another's state, in members that the tables contain and in others. */
export const namedState: Attack = {
  name: 'named-state',
  sends: "another account's response, and ids of every kind, at places where a request may name state",
  seconds: 1,
  callers: { owner: { balanceYuan: '100' }, stranger: { balanceYuan: '100' } },
  async run(scene) {
    const bodyOf = (protocol: TableName, caller: string, more: object): object => {
      const user = scene.mark('plain', caller);
      const messages = [{ role: 'user', content: 'Hello.' }];
      if (protocol === 'responses') return { model: 'dear-chat', user, input: 'Hello.', ...more };
      if (protocol === 'chat') return { model: 'dear-chat', user, messages, ...more };
      return { model: 'dear-messages', max_tokens: 16, metadata: { user_id: user }, messages, ...more };
    };
    const send = (protocol: TableName, caller: string, more: object) =>
      scene.send({ path: PATHS[protocol], key: scene.key(caller), body: bodyOf(protocol, caller, more) });
    const { id } = JSON.parse((await send('responses', 'owner', {})).text) as Created;
    const idFor = ({ kind }: StatePlace): string => (kind === 'response' ? id : `${kind}_of_owner`);
    for (const protocol of tableNames) {
      const some = statePlaces(protocol, 1).filter((_, index) => index % STRIDE === 0);
      const tried = some.map((place) => [place.param, place.body(idFor(place))] as const);
      const unlisted = NEW_PLACES.map((place) => ['a new place', place(id)] as const);
      await Promise.all(
        [...tried, ...unlisted].map(async ([what, more]) =>
          scene.expectStatus(`${protocol}: ${what}`, await send(protocol, 'stranger', more), 404, 400),
        ),
      );
    }
    const stolen = await scene.bill('stranger');
    if (stolen.length > 0) scene.problem(`the provider got ${stolen.length} of them`);
    scene.expectStatus('its own', await send('responses', 'owner', { previous_response_id: id }), 200);
  },
};
