import type { Attack } from '../attack.ts';

interface Created {
  readonly id: string;
  readonly output: readonly { readonly id: string }[];
}

export const references: Attack = {
  name: 'references',
  sends: "another account's previous_response_id, conversation, item and file",
  seconds: 1,
  callers: { owner: { balanceYuan: '100' }, stranger: { balanceYuan: '100' } },
  async run(scene) {
    const create = (caller: string, more: object) =>
      scene.send({
        path: '/v1/responses',
        key: scene.key(caller),
        body: { model: 'dear-chat', user: scene.mark('plain', caller), input: 'Hello.', ...more },
      });
    const first = await create('owner', {});
    const { id, output } = JSON.parse(first.text) as Created;
    const content = [{ type: 'input_file', file_id: 'file_of_owner' }];
    const others: Record<string, object> = {
      previous_response_id: { previous_response_id: id },
      conversation: { conversation: 'conv_of_owner' },
      item_reference: { input: [{ type: 'item_reference', id: output[0]!.id }] },
      'an item with an id alone': { input: [{ id: output[0]!.id }] },
      file_id: { input: [{ type: 'message', role: 'user', content }] },
      vector_store_ids: { tools: [{ type: 'file_search', vector_store_ids: ['vs_of_owner'] }] },
      container: { tools: [{ type: 'code_interpreter', container: 'cntr_of_owner' }] },
    };
    for (const [what, more] of Object.entries(others)) {
      scene.expectStatus(what, await create('stranger', more), 404, 400);
    }
    const stolen = await scene.bill('stranger');
    if (stolen.length > 0) scene.problem(`the provider got ${stolen.length} of them`);
    scene.expectStatus('its own response', await create('owner', { previous_response_id: id }), 200);
    scene.expectStatus(
      'its own item',
      await create('owner', { input: [{ type: 'item_reference', id: output[0]!.id }] }),
      200,
    );
  },
};
