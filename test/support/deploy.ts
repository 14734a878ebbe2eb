import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}

export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number };
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
  readonly targets?: readonly { readonly expr: string }[];
}

export const ALERTS_FILE = fileURLToPath(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url));

const read = (file: string): string => readFileSync(new URL(`../../deploy/${file}`, import.meta.url), 'utf8');

export function alertRules(): readonly AlertRule[] {
  const { groups } = parse(read('prometheus/alerts.yaml')) as { groups: { rules: AlertRule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

export function dashboard(): {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string }[] };
} {
  return JSON.parse(read('grafana/faregate.json'));
}

export function namedMetrics(expr: string): string[] {
  return expr.match(/\b(?:faregate|process|nodejs)_[a-z0-9_]+/g) ?? [];
}
