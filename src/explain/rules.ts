/** The rules of the fold that explanations name, each in a sentence; docs/design.md has them whole. */

/** The sentences by the names of the rules. */
export const RULES: Readonly<Record<string, string>> = {
  U1: 'Only system prompts, messages, summaries, calls and their results ever enter the view.',
  U2: 'The calls of one reply and their results are one batch, and go together.',
  U3: 'A result goes to the call that it names, and the first result of a call wins.',
  U4: 'A batch is out of the view until each of its calls has a result.',
  U5: 'What a provider takes back together or not at all is forgotten together.',
  U6: 'A Condensation takes out what it lists, and with it whole batches and stretches; what is forgotten stays forgotten.',
  U8: 'A view is cut only between stretches, its oldest part first.',
  U10: 'A reply stands directly behind what its model had read.',
  D7: 'The view is that of the branch under HEAD, and HEAD is moved by the log alone.',
  D8: 'An event hangs on the parent that it names, else on HEAD, and an id means the first event that has it.',
  D16: 'A line that is no event is kept as it is, and says nothing.',
  D20: 'A reply is one thing, and its record says what it was asked at and how it ended.',
  D23: 'Signed thinking is sent only behind what its reply saw.',
  D24: 'The past is changed rarely, since all behind the change is read anew.',
}

/**
 * The sentence of a rule; null where no explanation names it. O(1).
 * @example
 * ruleOf('U4') // 'A batch is out of the view until each of its calls has a result.'
 */
export const ruleOf = (rule: string): string | null =>
  Object.hasOwn(RULES, rule) ? (RULES[rule] ?? null) : null
