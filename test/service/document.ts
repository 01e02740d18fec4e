/** Checks responses against the served OpenAPI document. */

import * as z from 'zod'
import type { Service } from '../../src/service/index.ts'

export type Schema = { readonly [key: string]: unknown }

export interface DocumentedOperation {
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly tags: readonly string[]
  readonly security?: readonly unknown[]
  readonly parameters: readonly {
    readonly name: string
    readonly in: 'path' | 'query'
    readonly required: boolean
    readonly schema: Schema
  }[]
  readonly body: Schema | null
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { schema: Schema }>> }>
  >
}

export interface ApiDocument {
  readonly raw: Schema & {
    readonly openapi: string
    readonly info: Schema
    readonly paths: Readonly<Record<string, Readonly<Record<string, Schema>>>>
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  }
  readonly operations: readonly DocumentedOperation[]
  /**
   * Returns what is wrong with a response; null for one that the document describes or that no operation
   * returned.
   */
  readonly complaint: (method: string, path: string, response: Response, text: string) => string | null
}

const ANY: Schema = {}

/** Statuses that every request may get without being documented. */
const ALWAYS: ReadonlySet<number> = new Set([404, 405])

/** Documents by text, because compiling a schema costs more than checking most responses. */
const known = new Map<string, ApiDocument>()

export async function readDocument({ fetch }: Pick<Service, 'fetch'>): Promise<ApiDocument> {
  const text = await (await fetch(new Request('http://localhost/openapi.json'))).text()
  const document = known.get(text) ?? documentOf(JSON.parse(text))
  known.set(text, document)
  return document
}

function documentOf(raw: ApiDocument['raw']): ApiDocument {
  const operations = operationsOf(raw)
  const definitions = JSON.parse(
    JSON.stringify(raw.components.schemas).replaceAll('#/components/schemas/', '#/$defs/'),
  )
  // A schema's text is compared once: operations share few large schemas, which are costly to serialize.
  const checksByText = new Map<string, z.ZodType>()
  const checks = new Map<Schema, z.ZodType>()
  const checkOf = (schema: Schema): z.ZodType => {
    const known = checks.get(schema)
    if (known !== undefined) return known
    const text = JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')
    const check = checksByText.get(text) ?? z.fromJSONSchema({ ...JSON.parse(text), $defs: definitions })
    checksByText.set(text, check)
    checks.set(schema, check)
    return check
  }
  const problem = { $ref: '#/components/schemas/Problem' }
  return {
    raw,
    operations,
    complaint(method, path, response, text) {
      const operation = operationAt(operations, method, path)
      const described = operation?.responses[String(response.status)]
      if (described === undefined && !(ALWAYS.has(response.status) || operation === undefined))
        return `${response.status} is not among the answers of ${method} ${path}`
      if (response.status === 204 || method === 'HEAD') return text === '' ? null : 'has a body'
      const type = response.headers.get('content-type') ?? ''
      const content = described?.content
      if (content !== undefined && content['application/json'] === undefined) {
        const wanted = Object.keys(content)[0] ?? ''
        return type.startsWith(wanted) ? null : `is ${type}, not ${wanted}`
      }
      if (!type.startsWith('application/json')) return `is ${type}, not JSON`
      const schema = content?.['application/json']?.schema ?? (response.status >= 400 ? problem : ANY)
      const { success, error } = checkOf(schema).safeParse(JSON.parse(text))
      return success
        ? null
        : `${method} ${path} ${response.status} is not as documented: ${error.message.slice(0, 600)}`
    },
  }
}

function operationsOf(raw: ApiDocument['raw']): DocumentedOperation[] {
  return Object.entries(raw.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => {
      const {
        requestBody,
        parameters = [],
        ...rest
      } = described as Schema & {
        requestBody?: { content: Record<string, { schema: Schema }> }
        parameters?: DocumentedOperation['parameters']
      }
      const body = requestBody?.content['application/json']?.schema ?? null
      return {
        ...rest,
        parameters,
        body,
        method: method.toUpperCase(),
        path,
      } as unknown as DocumentedOperation
    }),
  )
}

const segments = new Map<string, readonly string[]>()

/** Returns the segments of a documented path. */
function segmentsOf(path: string): readonly string[] {
  const known = segments.get(path) ?? path.split('/')
  segments.set(path, known)
  return known
}

/** Returns the operation of a request: literal segments win over parameters. */
export function operationAt(
  operations: readonly DocumentedOperation[],
  method: string,
  path: string,
): DocumentedOperation | undefined {
  const parts = path.split('/')
  const documentedMethod = method === 'HEAD' ? 'GET' : method
  const fits = operations.filter((operation) => {
    if (operation.method !== documentedMethod) return false
    const pattern = segmentsOf(operation.path)
    return (
      pattern.length === parts.length &&
      pattern.every((part, index) => (part.startsWith('{') ? parts[index] !== '' : part === parts[index]))
    )
  })
  const key = ({ path: pattern }: DocumentedOperation): string =>
    pattern
      .split('/')
      .map((part) => (part.startsWith('{') ? '1' : '0'))
      .join('')
  return fits.toSorted((a, b) => key(a).localeCompare(key(b)))[0]
}
