import { type NodeMetric, ofNode } from './node-figures.ts';

/** What accounts and operators are told of. */
export const noticeMetrics: readonly NodeMetric[] = [
  {
    name: 'faregate_notice_attempts_total',
    type: 'counter',
    labels: ['result'],
    unit: 'attempts',
    help: 'Attempts of this node to deliver a notice, by webhook or mail: delivered, or failed.',
    read: ({ notices: { delivered, failed } }) => [
      { labels: ['delivered'], value: delivered },
      { labels: ['failed'], value: failed },
    ],
  },
  ofNode.sum('faregate_notice_attempts_running', 'receivers', {
    help: 'Receivers that this node sends notices to at the moment.',
    value: ({ notices }) => notices.inFlight,
  }),
  ofNode.highest('faregate_notice_receivers_due', 'receivers', {
    help: 'Receivers for which notices were due on all nodes when this one looked last, up to 10,000.',
    value: ({ notices }) => notices.due,
  }),
];
