import { form, png } from '../../support/endpoints.ts';
import type { Attack } from '../attack.ts';

/** Forms that two parsers read differently, so that one sees a cheap call and the other an expensive one. */
export const forms: Attack = {
  name: 'forms',
  sends: 'edits whose form has two boundaries, two names of a field, or a file for a text',
  seconds: 1,
  callers: { tenant: { balanceYuan: '1000' } },
  async run(scene) {
    const parts = [
      ['model', 'painter'],
      ['prompt', 'An apple.'],
      ['quality', 'low'],
      ['user', scene.mark('all', 'tenant')],
      ['image', png(4, 4), 'apple.png'],
    ] as const;
    const { contentType, body } = form(parts);
    const replaced = (from: string, to: string): Buffer =>
      Buffer.from(body.toString('latin1').replace(from, to), 'latin1');
    const cases = {
      'boundary*=': { contentType: `${contentType}; boundary*=UTF-8''c`, body },
      'name*=': { contentType, body: replaced('name="model"', `name="model"; name*=UTF-8''n`) },
      'a name with a backslash': { contentType, body: replaced('name="quality"', 'name="qual\\ity"') },
      'a model with a file name': { contentType, body: replaced('name="model"', 'name="model"; filename="m"') },
      'a boundary after a bare line feed': {
        contentType,
        body: replaced(
          'An apple.',
          `An apple.\n--${/boundary=(.*)$/.exec(contentType)![1]}\r\nContent-Disposition: form-data; name="n"\r\n\r\n10`,
        ),
      },
    };
    for (const [what, sent] of Object.entries(cases)) {
      const response = await scene.send({
        path: '/v1/images/edits',
        key: scene.key('tenant'),
        headers: { 'content-type': sent.contentType },
        body: sent.body,
      });
      scene.expectStatus(what, response, 400, 415);
    }
    const bill = await scene.bill('tenant');
    if (bill.length > 0) scene.problem(`the provider got ${bill.length} of them`);
  },
};
