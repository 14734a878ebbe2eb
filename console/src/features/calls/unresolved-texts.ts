import { pageTexts } from '../../parts/texts.ts';
import { counted } from '../../text/counted.ts';

export const unresolvedTexts = pageTexts(
  {
    lead: 'The node failed during these calls, so it is unknown whether the provider ran them. Their reservations are released and nothing is charged. Compare with the provider’s usage list and decide each call once.',
    empty: 'No unresolved calls',
    emptyHint: 'Calls appear here if a node failed while they ran.',
    when: 'Began',
    route: 'Provider model',
    held: 'Reserved',
    tokens: (count: string) => counted(count, 'token'),
    ids: 'Call and request',
    decide: 'Resolve',
  },
  {
    lead: '运行这些调用的节点中途终止，网关无法得知供应商是否执行了它们：预留已经释放，也没有扣费。请与供应商自己的记录核对，并对每次调用各处理一次。',
    empty: '没有待处理的调用',
    emptyHint: '网关节点在调用进行中终止时，调用会出现在这里。',
    when: '开始时间',
    route: '供应商端模型',
    held: '曾预留',
    tokens: (count: string) => `${count} token`,
    ids: '调用与请求',
    decide: '处理',
  },
);
