import { type ComponentChild, render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { LogDocument, PageSource } from '../log-document.ts'
import { counted } from '../../explain/explanation.ts'
import { named, openLog, readLog, readSource, rename, type Session } from './session.ts'
import { LogPage } from './log-page.tsx'
import { ServicePage } from './service-page.tsx'

function Page({ source }: { source: PageSource }): ComponentChild {
  const linked = Number(named('log') ?? source.first)
  const [index, setIndex] = useState(source.logs[linked] === undefined ? source.first : linked)
  const [logs, setLogs] = useState<ReadonlyMap<number, LogDocument>>(new Map())
  const [open, setOpen] = useState<{ readonly index: number; readonly session: Session } | null>(null)
  const [message, say] = useState('Reading the log…')
  useEffect(() => {
    let isWanted = true
    const read = async (): Promise<void> => {
      performance.mark('colloquy:begun')
      const log = logs.get(index) ?? (await readLog(source, index))
      performance.mark('colloquy:parsed')
      const session = await openLog(
        log,
        (done) => isWanted && say(`Folding the log: ${counted(done, 'event')}…`),
      )
      if (!isWanted) return
      setLogs(new Map(logs).set(index, log))
      setOpen({ index, session })
    }
    read().catch((error: unknown) => say(error instanceof Error ? error.message : 'The log cannot be read.'))
    return () => {
      isWanted = false
    }
  }, [index])
  return (
    <LogPage
      session={open?.index === index ? open.session : null}
      message={message}
      family={{
        titles: source.logs,
        index,
        choose(index, event = null) {
          rename({ log: String(index), event, at: null })
          setIndex(index)
        },
        find: null,
        read: async (index) => logs.get(index) ?? readLog(source, index),
      }}
      name={String(index)}
      isLive={false}
    />
  )
}

const root = document.querySelector('#page')
const source = readSource()
root?.replaceChildren()
if (root !== null) render(source.from === 'service' ? <ServicePage /> : <Page source={source} />, root)
