/** The process of the command: its arguments, streams and exit code, wired to `run`. */

import type { Writable } from 'node:stream'
import { fromWriting } from './failure.ts'
import { ClosedPipe, FailedOutput, type Sink } from './print/io.ts'
import { run } from './run.ts'

interface Terminal extends Writable {
  readonly isTTY?: boolean
  readonly columns?: number
}

function sinkOf(stream: Terminal): Sink {
  // An error also comes as an event, which would end the process without a listener; the write itself rejects with it.
  stream.on('error', () => {})
  return {
    isTTY: stream.isTTY === true,
    columns: stream.columns,
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => {
          if (error === null || error === undefined) resolve()
          else reject(outputError(error))
        })
      }),
  }
}

function outputError(error: Error): Error {
  if ('code' in error && error.code === 'EPIPE') return new ClosedPipe('closed', { cause: error })
  const told = fromWriting(error)
  const why = told instanceof Error ? told.message : error.message
  return new FailedOutput(`standard output ${why}`, { cause: error })
}

const stderr = sinkOf(process.stderr)

const STOPPING = ['SIGINT', 'SIGTERM'] as const

/** Once only: who asks twice does not want to wait. */
function onStop(stop: () => void): void {
  const once = (): void => {
    for (const signal of STOPPING) process.off(signal, once)
    stop()
  }
  for (const signal of STOPPING) process.on(signal, once)
}

function fail(error: unknown): void {
  if (!(error instanceof ClosedPipe)) {
    const message = error instanceof Error ? error.message : String(error)
    process.stderr.write(`colloquy: unexpected error: ${message.split('\n', 1)[0]}\n`)
    process.exitCode = 1
  }
  // Standard input may still be open, with no reader left.
  process.exit()
}

/** Runs the command that the process was started with; its exit code becomes the process's. */
export async function runProcess(): Promise<void> {
  // Node 22 calls its SQLite experimental, on standard error, where a script looks for what went wrong.
  process.removeAllListeners('warning')
  process.on('warning', ({ name, message }) => {
    if (name !== 'ExperimentalWarning') process.stderr.write(`${name}: ${message}\n`)
  })
  process.on('uncaughtException', fail)
  process.on('unhandledRejection', fail)
  process.exitCode =
    (await run(process.argv.slice(2), {
      stdin: process.stdin,
      stdout: sinkOf(process.stdout),
      stderr,
      env: process.env,
      onStop,
    }).catch(fail)) ?? 0
}
