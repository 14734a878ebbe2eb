import { sparkPoints } from './spark-points.ts';

interface SparklineProps {
  readonly values: readonly number[];
  /** Label for screen readers. */
  readonly label: string;
}

const WIDTH = 96;
const HEIGHT = 24;
const INSET = 2;

/** A small line without axes. Drawn here: the chart library would triple the size of the page. */
export function Sparkline({ values, label }: SparklineProps) {
  if (values.length < 2) return null;
  const points = sparkPoints(values, WIDTH, HEIGHT, INSET);
  const [x, y] = points.at(-1)!;
  return (
    <svg
      width="100%"
      height={HEIGHT}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
      style={{ display: 'block', color: 'var(--mantine-color-cyan-7)', overflow: 'visible' }}
    >
      <polyline
        points={points.map((point) => point.join(',')).join(' ')}
        fill="none"
        stroke="currentColor"
        strokeWidth={1.5}
        vectorEffect="non-scaling-stroke"
      />
      <line
        x1={x}
        x2={x}
        y1={y}
        y2={y}
        stroke="currentColor"
        strokeWidth={5}
        strokeLinecap="round"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  );
}
