/** Reads and checks the body of a request, never more bytes than the bound. */

import { freezeJson } from '../../event/freeze.ts'
import type { Operation } from './operation.ts'
import { HttpProblem, type ValidationError } from './problem.ts'

/** What reading a body gives. */
export type BodyRead = { readonly value: unknown } | { readonly errors: readonly ValidationError[] }

/** Reads the body of an operation that takes one. O(bytes). @throws HttpProblem 413. */
export async function readBody({ body }: Operation, request: Request, most: number): Promise<BodyRead> {
  if (body === undefined) return { value: undefined }
  const text = await readText(request, most)
  if (text === null) return { errors: [notJson('The body is not UTF-8')] }
  if (text === '') {
    if (body.optional === true) return { value: undefined }
    return { errors: [{ type: 'missing', loc: ['body'], msg: 'Field required', input: null }] }
  }
  let value
  try {
    value = JSON.parse(text)
  } catch (error) {
    // What a parser says quotes the text, which may hold a secret: its place is enough.
    const place = /position (\d+)/.exec(error instanceof Error ? error.message : '')?.[1] ?? ''
    const why = place === '' ? 'The body is not JSON' : `The body is not JSON from character ${place} on`
    return { errors: [notJson(why)] }
  }
  // Nesting that no schema could walk, and numbers that JSON cannot write back.
  const issues = freezeJson(value)
  if (issues.length === 0) return body.read(value)
  return {
    errors: issues.map(({ loc, msg }) => ({
      type: 'value_error',
      loc: ['body', ...loc],
      msg: `Value error, ${msg}`,
    })),
  }
}

const notJson = (error: string): ValidationError => ({
  type: 'json_invalid',
  loc: ['body'],
  msg: 'JSON decode error',
  ctx: { error },
})

/** Null for what is no UTF-8: its sender would not find again what it sent. */
async function readText(request: Request, most: number): Promise<string | null> {
  if (Number(request.headers.get('content-length') ?? 0) > most) throw tooLarge(most)
  if (request.body === null) return ''
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const reader = request.body.getReader()
  let text: string | null = ''
  let size = 0
  const decode = (bytes?: Uint8Array): void => {
    try {
      if (text !== null) text += decoder.decode(bytes, { stream: bytes !== undefined })
    } catch {
      text = null
    }
  }
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new HttpProblem(400, 'The body broke off.')
    })
    if (done) {
      decode()
      return text
    }
    size += value.byteLength
    if (size > most) {
      // The rest is not waited for; a failure to cancel it changes nothing.
      void reader.cancel().catch(() => undefined)
      throw tooLarge(most)
    }
    decode(value)
  }
}

const tooLarge = (most: number): HttpProblem => new HttpProblem(413, `The body is larger than ${most} bytes.`)
