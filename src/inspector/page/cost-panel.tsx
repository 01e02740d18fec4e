import type { ComponentChild } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { ModelUsage, Usage } from '../../context/usage.ts'
import { startedBy, usageAt, usageIn } from '../model/replayed.ts'
import { safe } from '../glimpse.ts'
import { counted } from '../../explain/explanation.ts'
import { EventLink, numberCells, Section, Table } from './parts.tsx'
import { type Family, lengthOf, type Reader } from './session.ts'

const REPLIES = 200

const COLUMNS = ['Usage', 'in', 'from cache', 'to cache', 'out', 'reasoning', 'cost']

export function CostPanel({ reader }: { reader: Reader }): ComponentChild {
  const { session, position, family } = reader
  const { titles, index, read } = family
  const { replayed } = session
  const total = useMemo(() => usageAt(replayed, lengthOf(session)), [replayed])
  const here = useMemo(() => usageAt(replayed, position), [replayed, position])
  const children = useMemo(() => startedBy(index, titles), [index, titles])
  const spent = useSpent(children, read)
  const requested = session.asks.filter(({ seq }) => seq < position)
  const all = [total, ...children.flatMap((index) => spent.get(index) ?? [])]
  return (
    <div>
      <Table names={COLUMNS} texts={1}>
        <UsageRow name="up to here" usage={here} />
        <UsageRow name="whole log" usage={total} />
        {[...total.by_model.values()].map((usage) => (
          <UsageRow
            key={usage.model_name ?? ''}
            name={`· ${safe(usage.model_name ?? 'no model named')}`}
            usage={usage}
          />
        ))}
        {children.map((index) => {
          const usage = spent.get(index)
          const name = `child: ${safe(titles[index]?.title ?? '')}`
          return usage === undefined || usage === null ? (
            <tr key={index}>
              <td>{name}</td>
              <td colSpan={COLUMNS.length - 1}>
                {usage === null ? 'cannot be read, and is not counted' : 'being read…'}
              </td>
            </tr>
          ) : (
            <UsageRow key={index} name={name} usage={usage} />
          )
        })}
        {children.length > 0 && <UsageRow name="with its children" usage={sumOf(all)} />}
      </Table>
      <p class="quiet">{rateText(total)}</p>
      <p class="quiet" id="children">
        {childrenText(children.length, all.length - 1)}
      </p>
      <Section title={`${counted(requested.length, 'reply', 'replies')} up to here`} />
      <Table names={['Reply', 'Model', 'in', 'from cache', 'out', 'reasoning']} texts={2}>
        {requested.slice(-REPLIES).map(({ seq, model, tokens }) => (
          <tr key={seq}>
            <td>
              <EventLink reader={reader} event={seq} />
            </td>
            <td>{safe(model ?? '')}</td>
            {numberCells([tokens?.input, tokens?.cache_read, tokens?.output, tokens?.reasoning])}
          </tr>
        ))}
      </Table>
    </div>
  )
}

function useSpent(children: readonly number[], read: Family['read']): ReadonlyMap<number, Usage | null> {
  const [spent, set] = useState<ReadonlyMap<number, Usage | null>>(new Map())
  useEffect(() => {
    let isWanted = true
    const all = new Map<number, Usage | null>()
    const look = async (): Promise<void> => {
      for (const child of children) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other, as each may be long
        all.set(child, await read(child).then(usageIn, () => null))
        if (!isWanted) return
        set(new Map(all))
      }
    }
    void look()
    return () => {
      isWanted = false
    }
  }, [children])
  return spent
}

function childrenText(children: number, counted: number): string {
  if (children === 0) return 'The page contains no conversations that this conversation started.'
  return `${counted} of ${children} conversations are counted: those on this page that this conversation started, directly or indirectly.`
}

/** The counts of a row, in the order of the columns. */
const COUNTS = [
  'prompt_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'completion_tokens',
  'reasoning_tokens',
] as const

type Counts = Pick<ModelUsage, (typeof COUNTS)[number] | 'cost'>

function UsageRow({ name, usage }: { name: string; usage: Counts }): ComponentChild {
  return (
    <tr>
      <td>{name}</td>
      {numberCells(COUNTS.map((field) => usage[field]))}
      <td class="n">
        {usage.cost === 0 ? '' : usage.cost.toLocaleString('en', { maximumFractionDigits: 4 })}
      </td>
    </tr>
  )
}

function sumOf(all: readonly Usage[]): Counts {
  const sum = (field: keyof Counts): number => all.reduce((total, usage) => total + usage[field], 0)
  const sums = Object.fromEntries(COUNTS.map((field) => [field, sum(field)]))
  return { ...(sums as Record<(typeof COUNTS)[number], number>), cost: sum('cost') }
}

const rateText = ({ cache_hit_rate, prompt_tokens }: Usage): string =>
  cache_hit_rate === null
    ? prompt_tokens === 0
      ? 'The log records no usage.'
      : ''
    : `${Math.round(cache_hit_rate * 100)} % of the input was read from a cache.`
