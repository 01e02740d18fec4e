/** Faults in src/context/redaction/. */

import type { Fault } from './fault.ts'

export const REDACTION_FAULTS: readonly Fault[] = [
  {
    name: 'ids are redacted',
    file: 'context/redaction/redact.ts',
    find: "'kind', 'id', 'parent_id', 'source',",
    replace: "'kind', 'id', 'source',",
  },
  {
    name: 'a state update of HEAD is redacted',
    file: 'context/redaction/redact.ts',
    find: "    leaf_event_id: { value: 'keep' },",
    replace: '',
  },
  {
    name: 'the names of the engine’s own tools are redacted',
    file: 'context/redaction/redact.ts',
    find: "if (treatment === 'name' && BUILT_IN_TOOLS.has(text)) return text",
    replace: '',
  },
  {
    name: 'white space is a secret',
    file: 'context/redaction/redact-text.ts',
    find: 'if (!hasText(text) || isMask(text)) return text\n  // In bytes',
    replace: 'if (isMask(text)) return text\n  // In bytes',
  },
  {
    name: 'masks are redacted again',
    file: 'context/redaction/find-secrets.ts',
    find: 'if (mask !== undefined && mask[0] <= start && end <= mask[1]) continue',
    replace: '',
  },
  {
    name: 'secrets that appear only after masking are kept',
    file: 'context/redaction/redact-text.ts',
    find: '    redacted = masked\n',
    replace: '    return masked\n',
  },
  {
    name: 'thinking keeps its signature after masking',
    file: 'event/unsign.ts',
    find: '{ signature: null }',
    replace: "{ signature: block['signature'] ?? null }",
  },
  {
    name: 'a reply counts as masked only if all of its fields are masked',
    file: 'context/redaction/redact.ts',
    find: 'REPLY_FIELDS.some(',
    replace: 'REPLY_FIELDS.every(',
  },
  {
    name: 'a reply stays signed when something else in it is masked',
    file: 'context/redaction/redact.ts',
    find: 'return redacted !== body && isMasked(body, redacted) ?',
    replace: 'return redacted === body && isMasked(body, redacted) ?',
  },
  {
    name: 'signatures are removed only from the event with the secret',
    file: 'context/redaction/redact.ts',
    find: 'if (!masked.has(responseIdOfFact(fact))) return fact',
    replace: 'if (masked.size > 0) return fact',
  },
  {
    name: 'a masked reply keeps its recorded parts',
    file: 'event/unsign.ts',
    find: 'parts: parts.map(barePart)',
    replace: 'parts',
  },
  {
    name: 'the first thinking block of a masked reply is omitted',
    file: 'event/unsign.ts',
    find: 'return { ...typed, thinking: texts[i] ?? text, ...signed }\n  })',
    replace: 'return { ...typed, thinking: texts[i] ?? text, ...signed }\n  }).slice(1)',
  },
  {
    name: 'arguments may become invalid JSON',
    file: 'context/redaction/redact-text.ts',
    find: 'if (isJson() && !parses(masked)) break',
    replace: '',
  },
  {
    name: 'numbers in JSON text become bare masks',
    file: 'context/redaction/redact-text.ts',
    find: 'return mask === null ? token : JSON.stringify(mask)',
    replace: 'return mask ?? token',
  },
  {
    name: 'JSON escapes hide a secret',
    file: 'context/redaction/find-secrets.ts',
    find: 'const ENCODINGS: readonly Encoding[] = [\n  JSON_ESCAPES,',
    replace: 'const ENCODINGS: readonly Encoding[] = [',
  },
  {
    name: 'percent encoding hides a secret',
    file: 'context/redaction/find-secrets.ts',
    find: 'attempt(() => decodeURIComponent(bytes), null)',
    replace: 'null',
  },
  {
    name: 'line breaks in base64 hide a secret',
    file: 'context/redaction/find-secrets.ts',
    find: "decode: () => '',",
    replace: 'decode: () => null,',
  },
  {
    name: 'base64 hides a secret at an offset',
    file: 'context/redaction/find-secrets.ts',
    find: 'return [0, 1, 2].flatMap(',
    replace: 'return [0].flatMap(',
  },
  {
    name: 'only the unambiguous base64 digits of a secret are masked',
    file: 'context/redaction/find-secrets.ts',
    find: 'const [from, to] = base64Run(text, start, start + form.length)',
    replace: 'const [from, to] = [start, start + form.length]',
  },
  {
    name: 'the URL alphabet of base64 hides a secret',
    file: 'context/redaction/find-secrets.ts',
    find: "return [form, form.replaceAll('+', '-').replaceAll('/', '_')]",
    replace: 'return [form]',
  },
  {
    name: 'plus signs in form encoding hide a secret',
    file: 'context/redaction/find-secrets.ts',
    find: "for (const secret of secrets) forms.set(secret.replaceAll(' ', '+'), { secret, isBase64: false })",
    replace: '',
  },
  {
    name: 'an escape sequence is masked partially',
    file: 'context/redaction/find-secrets.ts',
    find: 'if (index < end) return [sourceStart, sourceEnd]',
    replace: 'if (index < end) return [sourceStart, sourceStart + 1]',
  },
  {
    name: 'keys are not redacted',
    file: 'context/redaction/redact.ts',
    find: 'const redactedKey = isFixed ? key : redactText(key, rules)',
    replace: 'const redactedKey = key',
  },
  {
    name: 'a value is lost if two keys become equal',
    file: 'context/redaction/redact.ts',
    find: 'setOwn(out, key === before[i]?.[0] ? key : uniqueKey(key), value)',
    replace: 'setOwn(out, key, value)',
  },
  {
    name: 'enums of published tools are redacted',
    file: 'context/redaction/redact.ts',
    find: 'for (const { loc, type } of decoded.ok ? decoded.warnings : decoded.issues) {',
    replace: 'for (const { loc, type } of decoded.ok ? [] : decoded.issues) {',
  },
  {
    name: 'derived ids depend on the redacted body',
    file: 'context/redaction/redact.ts',
    find: 'id: deriveEventId(conversationId, from + i, fact) }',
    replace: 'id: deriveEventId(conversationId, from + i, after) }',
  },
  {
    name: 'a log without secrets is copied',
    file: 'context/redaction/redact.ts',
    find: 'return changed ?? list\n',
    replace: 'return changed ?? [...list]\n',
  },
  {
    name: 'masks depend on the number of earlier masks',
    file: 'context/redaction/mask.ts',
    find: 'const maskOf: Masker = (secret) => `${OPENING}:${hash(secret).slice(0, 16)}]`',
    replace:
      'let n = 0\n  const maskOf: Masker = (secret) => `${OPENING}:${hash(secret + (n += 1)).slice(0, 16)}]`',
  },
  {
    name: 'sealed content is changed when only a pattern matches',
    file: 'context/redaction/redact-text.ts',
    find: 'findSecrets(text, literalFinders).length === 0 ? text : null',
    replace: 'findSecrets(text, literalFinders).length === 0 ? `${text}!` : null',
  },
]
