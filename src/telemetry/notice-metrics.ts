import { type NodeMetric, ofNode } from './node-figures.ts';

/** Notices to accounts and operators. */
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
    help: 'Receivers to which this node is sending notices.',
    value: ({ notices }) => notices.inFlight,
  }),
  ofNode.highest('faregate_notice_receivers_due', 'receivers', {
    help: 'Receivers with due notices, on all nodes, when this node last checked; at most 10,000.',
    value: ({ notices }) => notices.due,
  }),
];
