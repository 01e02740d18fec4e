/** Runs the tests in a worker, and streams a line for each file. */

import { runTests } from './run-tests.ts'

export function respond(): Response {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  void send(writable.getWriter())
  return new Response(readable)
}

async function send(writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
  const encoder = new TextEncoder()
  try {
    for await (const line of runTests()) await writer.write(encoder.encode(`${line}\n`))
    await writer.close()
  } catch (error) {
    await writer.abort(error)
  }
}
