import { invalidRequest } from '../../errors/gateway-error.ts';
import { isRecord } from '../../lib/json/json.ts';
import type { Estimate } from './estimate.ts';

export const countTokens: Estimate = {
  name: 'messages.count_tokens',
  kind: 'messages',
  requiresModel: false,
  inspect(fields) {
    const model = fields.optionalText('model');
    fields.requireKind('messages', ['array']);
    checkMessages(fields.wholeValue('messages') as readonly unknown[]);
    fields.optionalKind('tools', ['array']);
    return model;
  },
  toResponse: (tokens) => ({ input_tokens: tokens }),
};

function checkMessages(messages: readonly unknown[]): void {
  for (const [index, message] of messages.entries()) {
    const param = `messages[${index}]`;
    if (!isRecord(message)) throw invalidRequest(`The item "${param}" must be an object.`, param);
    if (typeof message.role !== 'string' || message.role === '') {
      throw invalidRequest(`The field "${param}.role" is required and must be a string.`, `${param}.role`);
    }
    if (typeof message.content !== 'string' && !Array.isArray(message.content)) {
      throw invalidRequest(
        `The field "${param}.content" is required and must be a string or an array.`,
        `${param}.content`,
      );
    }
  }
}
