/** Faults in src/event/. */

import type { Fault } from './fault.ts'

export const EVENT_FAULTS: readonly Fault[] = [
  {
    name: 'secrets inside JSON text are not masked',
    file: 'event/mask.ts',
    find: "text.replace(SECRET_IN_TEXT, '$1null')",
    replace: 'text',
  },
  {
    name: 'only top-level values are masked',
    file: 'event/mask.ts',
    find: "if (typeof item === 'object' || typeof item === 'string') todo.push(item)",
    replace: "if (typeof item === 'string') todo.push(item)",
  },
  {
    name: 'an issue quotes a secret',
    file: 'event/issues.ts',
    find: "input: loc.some((key) => typeof key === 'string' && mentionsSecret(key)) ? null : maskSecrets(input),",
    replace: 'input,',
  },
  {
    name: 'canonical text keeps the order of keys',
    file: 'event/encode.ts',
    find: '.toSorted()',
    replace: '',
  },
  {
    name: 'decoding freezes its input',
    file: 'event/decode.ts',
    find: 'return copied.issues.length > 0 ? failedDecode(copied.issues) : decodeFrozen(copied.value)',
    replace:
      'return copied.issues.length > 0 ? failedDecode(copied.issues) : decodeFrozen(Object.freeze(value) as JsonValue)',
  },
  {
    name: '__proto__ sets the prototype',
    file: 'event/json.ts',
    find: "if (key === '__proto__') {",
    replace: "if (key === '__proto__ ') {",
  },
  {
    name: 'a quarantined line is trimmed',
    file: 'event/load.ts',
    find: 'if (!parsed.ok) return keep(text, [parsed.issue], undefined)',
    replace: 'if (!parsed.ok) return keep(text.trim(), [parsed.issue], undefined)',
  },
  {
    name: 'nulls are omitted',
    file: 'event/encode.ts',
    find: 'return JSON.stringify(event)',
    replace: 'return JSON.stringify(event, (_, value: unknown) => value ?? undefined)',
  },
]
