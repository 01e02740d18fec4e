/** The report of `check --laws` for people: each broken law with its sentence, and the first events that break it. */

import { sentenceOf } from '../../laws/index.ts'
import { heading, type Page, wrapped } from '../show/page.ts'
import { counted, padStart, safe } from '../print/text.ts'
import { byLaw, type Judged } from './findings.ts'

/** How many events are shown of each law; `--json` gives all. */
const SHOWN = 5

/** Shows what is wrong with a log. */
export function* showLaws(page: Page, { title, events, findings }: Judged): IterableIterator<string> {
  const groups = byLaw(findings)
  const verdict =
    events === 0
      ? page.paint('warn', 'nothing to check: there is no event')
      : findings.length === 0
        ? page.paint('good', '✓ breaks no law')
        : page.paint('bad', `✗ ${counted(findings.length, 'violation')} of ${counted(groups.size, 'law')}`)
  yield `${heading(page, safe(title), counted(events, 'event'))}  ${verdict}`
  for (const [law, group] of groups) {
    yield* wrapped(page, `  ${page.paint('bad', law.padEnd(4))} `, 7, sentenceOf(law) ?? '')
    const columns = String(group.at(-1)?.line ?? 0).length
    for (const { line, message } of group.slice(0, SHOWN)) {
      const lead = `       line ${padStart(String(line), columns)}  `
      yield* wrapped(page, page.paint('dim', lead), lead.length, message)
    }
    if (group.length > SHOWN)
      yield page.paint('dim', `       and ${counted(group.length - SHOWN, 'more event')}`)
  }
}
