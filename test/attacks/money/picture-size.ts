import type { Attack } from '../attack.ts';

export const pictureSize: Attack = {
  name: 'picture-size',
  sends: 'pictures whose size is called low, where a low quality is cheap',
  seconds: 1,
  callers: { tenant: { balanceYuan: '10' } },
  async run(scene) {
    const body = { model: 'painter-by-image', user: scene.mark('all', 'tenant'), prompt: 'An apple.', size: 'low' };
    const response = await scene.send({ path: '/v1/images/generations', key: scene.key('tenant'), body });
    const settled = await scene.settle('tenant', 'a picture of the size low');
    if (response.status !== 400) scene.expectBill('a picture of the size low', settled);
    else if (settled.bill.length > 0) scene.problem('it was refused, and the provider got it');
  },
};
