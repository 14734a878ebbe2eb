import type { Attack } from '../attack.ts';

/** Names that case-folding decoders treat as the gateway's own. */
const MEMBERS = [
  '"\u017Ftream":true',
  '"max_to\u212Aens":30000',
  '"Model":"dearest"',
  '"stream":true,"stream_options":{"Include_Usage":false}',
];

export const foldedMembers: Attack = {
  name: 'folded-members',
  sends: 'chat with \u017Ftream, max_to\u212Aens, Model and Include_Usage',
  seconds: 1,
  callers: { tenant: { balanceYuan: '1000' } },
  async run(scene) {
    const user = scene.mark('plain', 'tenant');
    for (const member of MEMBERS) {
      const body = `{"model":"dear-chat","user":"${user}","max_tokens":1,"messages":[{"role":"user","content":"x"}],${member}}`;
      const response = await scene.send({ path: '/v1/chat/completions', key: scene.key('tenant'), body });
      scene.expectStatus(member, response, 400);
    }
    const bill = await scene.bill('tenant');
    if (bill.length > 0) scene.problem(`the provider got ${bill.length} of them`);
  },
};
