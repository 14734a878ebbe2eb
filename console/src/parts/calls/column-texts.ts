import { counted } from '../../text/counted.ts';
import { pageTexts } from '../texts.ts';

export const callColumnTexts = pageTexts(
  {
    input: 'Input',
    output: 'Output',
    refunded: (amount: string) => `${amount} refunded`,
    held: (amount: string) => `${amount} reserved`,
    times: (count: number) => `${counted(count, 'time')} in that minute`,
    unknownCaller: 'unknown',
    message: 'Message',
    ownRequestId: (id: string) => `client: ${id}`,
  },
  {
    input: '输入',
    output: '输出',
    refunded: (amount: string) => `已退 ${amount}`,
    held: (amount: string) => `预留 ${amount}`,
    times: (count: number) => `该分钟内 ${count} 次`,
    unknownCaller: '未知调用方',
    message: '返回信息',
    ownRequestId: (id: string) => `客户端：${id}`,
  },
);
