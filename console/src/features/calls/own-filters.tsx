import { useKeyNames } from '../../parts/keys/own-key-names.ts';
import type { Place } from '../../parts/location.ts';
import { useOwnModelNames } from '../../parts/model-names.ts';
import { usePeople } from '../../parts/people.ts';
import { Picker } from '../../parts/picker.tsx';
import { useTexts } from '../../text/language.tsx';
import { callsTexts } from './own-texts.ts';

interface KeyAndPersonFiltersProps {
  readonly query: Place['query'];
  readonly onChange: (changed: { readonly [name: string]: string | null }) => void;
}

export function KeyAndPersonFilters({ query, onChange }: KeyAndPersonFiltersProps) {
  const text = useTexts(callsTexts);
  const keyNames = useKeyNames();
  const people = usePeople();
  const models = useOwnModelNames();
  return (
    <>
      <Picker
        label={text.key}
        placeholder={text.anyKey}
        choices={toChoices(keyNames)}
        value={query.keyId}
        onChange={(keyId) => onChange({ keyId })}
      />
      {people !== null && (
        <Picker
          label={text.person}
          placeholder={text.anyPerson}
          choices={toChoices(people)}
          value={query.userId}
          onChange={(userId) => onChange({ userId })}
        />
      )}
      <Picker
        label={text.model}
        placeholder={text.anyModel}
        choices={models.map((id) => ({ value: id, label: id }))}
        value={query.model}
        onChange={(model) => onChange({ model })}
      />
    </>
  );
}

const toChoices = (names: ReadonlyMap<string, string>) => [...names].map(([value, label]) => ({ value, label }));
