import { type NodeMetric, ofNode } from './node-figures.ts';

export const noticeMetrics: readonly NodeMetric[] = [
  {
    name: 'faregate_notice_attempts_total',
    type: 'counter',
    labels: ['result'],
    unit: 'attempts',
    help: 'Number of attempts of this node to deliver a notice by webhook or mail, by result: delivered or failed.',
    read: ({ notices: { delivered, failed } }) => [
      { labels: ['delivered'], value: delivered },
      { labels: ['failed'], value: failed },
    ],
  },
  ofNode.sum('faregate_notice_attempts_running', 'receivers', {
    help: 'Number of receivers to which this node is sending notices.',
    value: ({ notices }) => notices.inFlight,
  }),
  ofNode.highest('faregate_notice_receivers_due', 'receivers', {
    help: 'Number of receivers with due notices, for all nodes together, when this node last checked; at most 10,000.',
    value: ({ notices }) => notices.due,
  }),
];
