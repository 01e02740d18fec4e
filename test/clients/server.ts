import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type ChildProcess, spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { inject } from 'vitest'

export interface Server {
  readonly url: string
  /** Null if the service requires no key. */
  readonly key: string | null
  readonly stop: () => Promise<void>
}

const CONFIG = {
  sandbox_specs: [{ id: 'folder', command: null }],
  sandbox_workspaces: true,
  editor: { port: 8001, token_env: 'EDITOR_TOKEN' },
}

/** Starts `colloquy serve` in its own folder, and waits until it prints its address. */
export async function startServer(key: string | null, more: readonly string[] = []): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'colloquy-clients-'))
  mkdirSync(join(folder, 'work'))
  writeFileSync(join(folder, 'serve.json'), JSON.stringify(CONFIG))
  const args = [
    '--db',
    'c.db',
    '--config',
    'serve.json',
    '--workspace',
    'work',
    '--agent',
    resolve(import.meta.dirname, 'agent.ts'),
  ]
  const child: ChildProcess = spawn(
    process.execPath,
    [join(inject('built'), 'cli/main.js'), 'serve', '--port', '0', ...args, ...more],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        COLLOQUY_SESSION_API_KEYS: key ?? undefined,
        COLLOQUY_SECRET: 'what seals the keys of these tests',
        EDITOR_TOKEN: 'of-the-editor',
      },
    },
  )
  let err = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => void (err += text))
  const url = await new Promise<string>((result, reject) => {
    let out = ''
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text
      const address = / at (http:\S+)\n/.exec(out)?.[1]
      if (address !== undefined) result(address)
    })
    child.once('exit', () => reject(new Error(`ended: ${err}`)))
  })
  return {
    url,
    key,
    async stop() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Request headers that need no preflight request. */
const SIMPLE = new Set(['accept', 'accept-language', 'content-language'])

/**
 * A `fetch` that applies CORS like a browser: it sends a preflight request if one is required, and rejects a
 * response that does not allow the origin.
 */
export function browserFetch(origin: string, sendRequest: typeof fetch): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init)
    const customHeaders = [...request.headers.keys()].filter((name) => !SIMPLE.has(name))
    if (!['GET', 'HEAD', 'POST'].includes(request.method) || customHeaders.length > 0) {
      const preflight = await sendRequest(request.url, {
        method: 'OPTIONS',
        headers: {
          origin,
          'access-control-request-method': request.method,
          'access-control-request-headers': customHeaders.join(','),
        },
      })
      const allowedValues = (header: string): string[] =>
        (preflight.headers.get(header) ?? '').split(',').map((one) => one.trim().toLowerCase())
      const isAllowed =
        preflight.ok &&
        preflight.headers.get('access-control-allow-origin') === origin &&
        allowedValues('access-control-allow-methods').includes(request.method.toLowerCase()) &&
        customHeaders.every((name) => allowedValues('access-control-allow-headers').includes(name))
      // A browser rejects a 404 of the preflight too. Here the request itself then reports the 404.
      if (!isAllowed && preflight.status !== 404)
        throw new TypeError(`Failed to fetch: CORS does not allow ${request.url}`)
    }
    request.headers.set('origin', origin)
    request.headers.set('sec-fetch-site', 'same-site')
    const response = await sendRequest(request)
    if (response.status !== 404 && response.headers.get('access-control-allow-origin') !== origin)
      throw new TypeError(`Failed to fetch: ${response.status} of ${request.url} is for another origin`)
    return response
  }
}
