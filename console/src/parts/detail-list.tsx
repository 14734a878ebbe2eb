import type { ReactNode } from 'react';
import classes from './detail-list.module.css';

interface DetailListProps {
  /** Names and values; what has no value is left out. */
  readonly details: readonly (readonly [name: string, value: ReactNode])[];
}

/** What is known of one thing, as pairs of name and value. */
export function DetailList({ details }: DetailListProps) {
  return (
    <dl className={classes.list}>
      {details
        .filter(([, value]) => value !== null && value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name} className={classes.pair}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
