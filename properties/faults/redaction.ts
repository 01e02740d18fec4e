/** Deliberate faults in src/context/redaction/: each breaks at least one law. */

import type { Fault } from './fault.ts'

export const REDACTION_FAULTS: readonly Fault[] = [
  {
    name: 'ids are redacted',
    file: 'context/redaction/event-fields.ts',
    find: "  parent_id: 'keep',",
    replace: '',
  },
  {
    name: 'a state update of HEAD is redacted',
    file: 'context/redaction/event-fields.ts',
    find: "    leaf_event_id: { value: 'keep' },",
    replace: '',
  },
  {
    name: 'the names of the engine’s own tools are redacted',
    file: 'context/redaction/walk.ts',
    find: 'return KNOWN_TOOLS.has(text) ? text : redactText(text, rules)',
    replace: 'return redactText(text, rules)',
  },
  {
    name: 'white space is a secret',
    file: 'context/redaction/redact-text.ts',
    find: 'if (!hasText(text) || isMask(text)) return text\n  // Patterns',
    replace: 'if (isMask(text)) return text\n  // Patterns',
  },
  {
    name: 'masks are redacted again',
    file: 'context/redaction/hit.ts',
    find: 'if (first !== undefined && first[0] <= start && end <= first[1]) continue',
    replace: '',
  },
  {
    name: 'what masks bring about is left',
    file: 'context/redaction/redact-text.ts',
    find: '    now = masked\n',
    replace: '    return masked\n',
  },
  {
    name: 'a signature outlives its words',
    file: 'context/redaction/thinking.ts',
    find: 'signature: null }',
    replace: "signature: block['signature'] ?? null }",
  },
  {
    name: 'a reply counts as masked only where all that it says is',
    file: 'context/redaction/unsign.ts',
    find: 'SAID.some((field) =>',
    replace: 'SAID.every((field) =>',
  },
  {
    name: 'a reply stays signed when something else in it is masked',
    file: 'context/redaction/redact.ts',
    find: 'return changed !== body && isMasked(body, changed) ?',
    replace: 'return changed === body && isMasked(body, changed) ?',
  },
  {
    name: 'only the event with the secret is no longer signed',
    file: 'context/redaction/redact.ts',
    find: 'if (!masked.has(responseOf(fact))) return fact',
    replace: 'if (masked.size > 0) return fact',
  },
  {
    name: 'parts of a masked reply stay',
    file: 'context/redaction/unsign.ts',
    find: 'parts: parts.map(bare)',
    replace: 'parts',
  },
  {
    name: 'thinking with a secret is left out',
    file: 'context/redaction/thinking.ts',
    find: 'return { ...typed, thinking: said, ...signed }\n  })',
    replace: 'return { ...typed, thinking: said, ...signed }\n  }).slice(1)',
  },
  {
    name: 'arguments may become other than JSON',
    file: 'context/redaction/redact-text.ts',
    find: 'if (isJson() && !parses(masked)) break',
    replace: '',
  },
  {
    name: 'numbers in JSON text become bare masks',
    file: 'context/redaction/json-text.ts',
    find: 'return number === null ? token : JSON.stringify(number)',
    replace: 'return number ?? token',
  },
  {
    name: 'JSON escapes hide',
    file: 'context/redaction/views.ts',
    find: 'const DECODINGS: readonly Decoding[] = [JSON_ESCAPES, PERCENT, WRAPPED]',
    replace: 'const DECODINGS: readonly Decoding[] = [PERCENT, WRAPPED]',
  },
  {
    name: 'percent signs hide',
    file: 'context/redaction/views.ts',
    find: 'const DECODINGS: readonly Decoding[] = [JSON_ESCAPES, PERCENT, WRAPPED]',
    replace: 'const DECODINGS: readonly Decoding[] = [JSON_ESCAPES, WRAPPED]',
  },
  {
    name: 'broken lines hide',
    file: 'context/redaction/views.ts',
    find: 'const DECODINGS: readonly Decoding[] = [JSON_ESCAPES, PERCENT, WRAPPED]',
    replace: 'const DECODINGS: readonly Decoding[] = [JSON_ESCAPES, PERCENT]',
  },
  {
    name: 'base64 hides what is encoded in it',
    file: 'context/redaction/views.ts',
    find: 'const WITH_BASE64: readonly Decoding[] = [...DECODINGS, BASE64]',
    replace: 'const WITH_BASE64: readonly Decoding[] = DECODINGS',
  },
  {
    name: 'base64 hides at an offset',
    file: 'context/redaction/literals.ts',
    find: 'return [0, 1, 2].flatMap(',
    replace: 'return [0].flatMap(',
  },
  {
    name: 'only the sure digits of base64 go',
    file: 'context/redaction/literals.ts',
    find: 'const [start, end] = wholeBase64(text, match.index, match.index + found.length)',
    replace: 'const [start, end] = [match.index, match.index + found.length]',
  },
  {
    name: 'the URL alphabet hides',
    file: 'context/redaction/literals.ts',
    find: "return [form, form.replaceAll('+', '-').replaceAll('/', '_')]",
    replace: 'return [form]',
  },
  {
    name: 'a form’s plus signs hide',
    file: 'context/redaction/literals.ts',
    find: "for (const secret of secrets) forms.set(secret.replaceAll(' ', '+'), { secret, base64: false })",
    replace: '',
  },
  {
    name: 'an escape is masked in part',
    file: 'context/redaction/views.ts',
    find: 'if (at < start + length) return [source, source + sourceLength]',
    replace: 'if (at < start + length) return [source, source + 1]',
  },
  {
    name: 'keys are not looked at',
    file: 'context/redaction/walk.ts',
    find: 'return redactText(key, walk.rules)',
    replace: 'return key',
  },
  {
    name: 'keys that become one are lost',
    file: 'context/redaction/walk.ts',
    find: 'setOwn(out, key === before[i]?.[0] ? key : numbered(key), value)',
    replace: 'setOwn(out, key, value)',
  },
  {
    name: 'a published tool’s own words are redacted',
    file: 'context/redaction/redact.ts',
    find: 'for (const { loc, type } of decoded.ok ? decoded.warnings : decoded.issues) {',
    replace: 'for (const { loc, type } of decoded.ok ? [] : decoded.issues) {',
  },
  {
    name: 'derived ids follow the redacted body',
    file: 'context/redaction/redact.ts',
    find: 'id: deriveEventId(conversationId, from + i, fact) }',
    replace: 'id: deriveEventId(conversationId, from + i, said) }',
  },
  {
    name: 'a copy is made of what holds no secret',
    file: 'context/redaction/walk.ts',
    find: 'return out ?? list\n',
    replace: 'return out ?? [...list]\n',
  },
  {
    name: 'masks depend on how often one was asked for',
    file: 'context/redaction/mask.ts',
    find: 'const maskOf: Masker = (secret) => `${OPENING}:${hash(secret).slice(0, 16)}]`',
    replace:
      'let n = 0\n  const maskOf: Masker = (secret) => `${OPENING}:${hash(secret + (n += 1)).slice(0, 16)}]`',
  },
  {
    name: 'patterns open what is sealed',
    file: 'context/redaction/redact-text.ts',
    find: 'const hits = findSecrets(text, literalFinders, literalFinders)',
    replace:
      "const hits = findSecrets(text, [...literalFinders], literalFinders)\n  if (text !== '') return `${text}!`",
  },
]
