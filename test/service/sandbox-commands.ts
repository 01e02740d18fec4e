import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A server that answers 200 on its port after `delay` milliseconds, and reports its key and folder. */
export const server = (delay = 0, extra = ''): readonly string[] => [
  process.execPath,
  '-e',
  `${extra}
setTimeout(() => require('node:http').createServer((request, response) => {
  if (request.url === '/sick') { global.sick = true }
  response.statusCode = global.sick ? 500 : 200
  response.end(JSON.stringify({ key: process.env.SESSION_API_KEY, cwd: process.cwd(), env: Object.keys(process.env) }))
}).listen(Number(process.env.PORT), '127.0.0.1'), ${delay})`,
]

/** A temporary folder; `remove` deletes it. */
export function folder(): { readonly path: string; readonly remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'colloquy-sandboxes-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** Living processes whose working directory is in a folder, with their states. */
export function processesIn(path: string): { readonly pid: number; readonly state: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const environment = readFileSync(`/proc/${pid}/environ`, 'latin1')
        const status = readFileSync(`/proc/${pid}/stat`, 'latin1')
        const state = status.slice(status.lastIndexOf(')') + 2)[0] ?? '?'
        const isIn = environment.includes(path) || readlinkSync(`/proc/${pid}/cwd`).startsWith(path)
        return isIn && state !== 'Z' ? [{ pid: Number(pid), state }] : []
      } catch {
        return []
      }
    })
}

/** Children of a process whose command line contains a name. */
export function childrenOf(parent: number, name: string): number[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/stat`, 'latin1')
        const [, ppid] = status.slice(status.lastIndexOf(')') + 2).split(' ')
        return Number(ppid) === parent && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(name)
      } catch {
        return false
      }
    })
    .map(Number)
}

/** Polls until a value is truthy and returns it. Backs off, since a check may be expensive. */
export async function until<T>(check: () => T | Promise<T>, timeout = 300_000): Promise<NonNullable<T>> {
  const end = performance.now() + timeout
  for (let pause = 5; ; pause = Math.min(2 * pause, 40)) {
    const result = await check()
    if (result !== null && result !== undefined && result !== false) return result
    if (performance.now() > end) throw new Error(`Timed out waiting for: ${check}`)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}
