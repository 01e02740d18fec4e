/**
 * Generates docs/errors.md from the sources: each error text with its code and the function that throws
 * it. `-u` writes the page; otherwise it is compared.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseSync } from 'rolldown/utils'
import { expect, it } from 'vitest'
import { toProblem } from '../src/service/http/problem.ts'
import { ColloquyError, type ErrorCode } from '../src/index.ts'

const ROOT = resolve(import.meta.dirname, '..')
const PAGE = join(ROOT, 'docs/errors.md')

const MEANINGS: Readonly<Record<ErrorCode, string>> = {
  unknown_event: 'No event of this conversation has this id. Check the id and the conversation.',
  evicted:
    'The body of an event, or an earlier state, is no longer in memory. Use `conversation.read`, or replay the whole log.',
  empty_view: 'There is no message to send to a model. Append one first.',
  pending_calls:
    'The current branch has calls without a result, and the option `pending` is `refuse`. Run or recover the conversation.',
  invalid_argument: 'An argument or option is invalid. Correct the call.',
  invalid_query: 'A search or list has an invalid filter, order or limit. Correct the query.',
  invalid_rules: 'Redaction rules are invalid. Correct them.',
  invalid_cursor: 'A cursor is damaged or belongs to another query. Start from the first page.',
  invalid_id:
    'An id is empty, reserved or longer than 200 characters, or it has control characters or malformed Unicode. Choose another id.',
  unknown_conversation: 'The conversation does not exist, or was deleted. Create it.',
  conversation_exists: 'A conversation with this id exists. Open it, or choose another id.',
  version_conflict: 'Another writer changed the log or record first. Read it again and retry.',
  id_conflict:
    'Another event or item has this id, or another run changed the session. Use a new id, or read the latest state and retry.',
  unknown_parent: 'An event names a parent that is not in the log. Append the parent first.',
  transient_event: 'An event of this kind is for live readers only and is never stored. Publish it instead.',
  lease_lost:
    'Another process may own the work now, or the conversation was replaced. Stop the work, and append nothing more.',
  invalid_event:
    'A value is not an event that can be appended or published. `data.issues`, if present, lists the invalid fields.',
  unknown_call:
    'No pending or working call has this id, or the call cannot be approved. Read the calls again.',
  already_running:
    'Another run holds the lease. Pause or interrupt that run, or wait for its end (`run` accepts `wait: true`).',
  context_too_long: 'The provider rejected a request as too long. Pass a condenser to the run.',
  closed: 'The engine, service or sandbox manager is closed. Create another one.',
  store_busy: 'Another process or transaction is using the database. Retry.',
  store_full: 'The disk or the quota is full. Free space, then retry.',
  store_read_only: 'The database accepts no writes. Open it for writing, or connect to the primary.',
  store_unavailable:
    'This process cannot use the database. Correct the cause that the error text names, then retry.',
  store_newer: 'A newer version of the library wrote the database. Upgrade the library.',
  store_closed: 'The store is closed. Create another one.',
}

// The used part of a syntax tree node.
interface Node {
  readonly type: string
  readonly [field: string]: unknown
}
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as { type?: unknown }).type === 'string'
const nodesIn = (value: unknown): Node[] =>
  Array.isArray(value) ? value.filter(isNode) : isNode(value) ? [value] : []
const children = new WeakMap<Node, readonly Node[]>()
function childrenOf(node: Node): readonly Node[] {
  const known = children.get(node)
  if (known !== undefined) return known
  const list: Node[] = []
  for (const value of Object.values(node)) if (typeof value === 'object') list.push(...nodesIn(value))
  children.set(node, list)
  return list
}
/** Yields a node and all nodes in it, in the order of the text. */
function* everyNodeIn(node: Node): Generator<Node, void> {
  const stack = [node]
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    yield next
    stack.push(...childrenOf(next).toReversed())
  }
}

type Env = ReadonlyMap<string, string>

/** Renders an expression as text, with an ellipsis for run-time values. */
function render(node: Node | undefined, env: Env): string {
  switch (node?.type) {
    case 'Literal':
      return node['value'] === null ? '…' : String(node['value'])
    case 'TemplateLiteral': {
      const quasis = nodesIn(node['quasis']).map((quasi) => (quasi['value'] as { cooked: string }).cooked)
      const values = nodesIn(node['expressions']).map((expression) => render(expression, env))
      return quasis.map((text, index) => text + (values[index] ?? '')).join('')
    }
    case 'Identifier':
      return env.get(String(node['name'])) ?? '…'
    case 'MemberExpression':
      return (node['computed'] === true && env.get(String(nodesIn(node['object'])[0]?.['name']))) || '…'
    case 'BinaryExpression':
      return node['operator'] === '+' && typeof nodesIn(node['right'])[0]?.['value'] !== 'number'
        ? render(nodesIn(node['left'])[0], env) + render(nodesIn(node['right'])[0], env)
        : '…'
    case 'ConditionalExpression': {
      const [first, second] = [node['consequent'], node['alternate']].map((side) =>
        render(nodesIn(side)[0], env),
      )
      return [...new Set([first, second])].filter((text) => text !== '').join(' / ')
    }
    default:
      return '…'
  }
}

/** Codes of the command's tables. */
const FILE_CODES = new Set(['not_found', 'exists', 'unreadable', 'unwritable'])
const CLASSES = ['ColloquyError', 'HttpProblem', 'FileError', 'UsageError'] as const
type ErrorClass = (typeof CLASSES)[number]

interface Thrown {
  readonly type: ErrorClass
  readonly code: string
  readonly text: string
}
interface Factory {
  readonly parameters: readonly string[]
  readonly thrown: (env: Env) => Thrown
}

const calleeOf = (node: Node): string => String(nodesIn(node['callee'])[0]?.['name'] ?? '')

function thrownBy(node: Node, env: Env): Thrown | null {
  const type = CLASSES.find((name) => node.type === 'NewExpression' && calleeOf(node) === name)
  if (type === undefined) return null
  const [first, second] = nodesIn(node['arguments'])
  return type === 'UsageError'
    ? { type, code: 'usage', text: render(first, env) }
    : { type, code: render(first, env), text: render(second, env) }
}

/** Returns the error of a row of a table: a code or status with its text, as a pair or as a property. */
function rowOf(node: Node): Thrown | null {
  const pair = node.type === 'ArrayExpression' ? nodesIn(node['elements']) : []
  const isRow = node.type === 'Property' || pair.length === 2
  const [code = '', text = ''] = (
    node.type === 'Property' ? [...nodesIn(node['key']), ...nodesIn(node['value'])] : pair
  ).map((part) => String(part['name'] ?? part['value'] ?? ''))
  if (!isRow || !/[a-z]{2} /.test(text)) return null
  if (Object.hasOwn(MEANINGS, code) && text.endsWith('.')) return { type: 'ColloquyError', code, text }
  if (/^[45]\d\d$/.test(code) && text.endsWith('.')) return { type: 'HttpProblem', code, text }
  return FILE_CODES.has(code) && pair.length === 2 ? { type: 'FileError', code, text } : null
}

/** Returns a constant's text; for an object, the texts of its properties as alternatives. */
function constantOf(init: Node | undefined): string {
  if (init?.type !== 'ObjectExpression') return render(init, new Map())
  const values = nodesIn(init['properties']).map((row) => render(nodesIn(row['value'])[0], new Map()))
  return values.every((text) => /[a-z]{3} /.test(text)) ? values.join(' / ') : ''
}

/** Collects the sentences that a file has as constants. */
const constantsIn = (program: Node): Env =>
  new Map(
    [...everyNodeIn(program)]
      .filter(({ type }) => type === 'VariableDeclarator')
      .map(
        (node) => [String(nodesIn(node['id'])[0]?.['name']), constantOf(nodesIn(node['init'])[0])] as const,
      )
      .filter(([name, text]) => /^(?:[A-Z_]+|message)$/.test(name) && /[a-z]{3} /.test(text)),
  )

/** Collects a file's errors, including those of functions that build errors from their parameters. */
function errorsIn(program: Node, factories: Map<string, Factory>, imported: Env): Thrown[] {
  const errors: Thrown[] = []
  const constants = new Map([...imported, ...constantsIn(program)])
  const visit = (node: Node): void => {
    const thrown = thrownBy(node, constants) ?? rowOf(node)
    if (thrown !== null) errors.push(thrown)
    const factory = node.type === 'CallExpression' ? factories.get(calleeOf(node)) : undefined
    if (factory !== undefined) {
      const values = nodesIn(node['arguments']).map((argument) => render(argument, constants))
      errors.push(
        factory.thrown(
          new Map([
            ...constants,
            ...factory.parameters.map((name, index) => [name, values[index] ?? '…'] as const),
          ]),
        ),
      )
    }
    for (const child of childrenOf(node)) visit(child)
  }
  visit(program)
  return errors
}

/** Finds the first expression that creates an error. */
function creationIn(node: Node): Node | undefined {
  for (const child of everyNodeIn(node)) if (thrownBy(child, new Map()) !== null) return child
  return undefined
}

/** Finds functions whose error text contains one of their parameters. */
function factoriesIn(node: Node, name: string | null, factories: Map<string, Factory>): void {
  const id = nodesIn(node['id'])[0]?.['name']
  const isFunction = /Function/.test(node.type)
  const functionName =
    node.type === 'VariableDeclarator' || node.type === 'FunctionDeclaration' ? String(id ?? '') : name
  if (isFunction && functionName !== null && functionName !== '') {
    const parameters = nodesIn(node['params']).map((parameter) => String(parameter['name'] ?? ''))
    const creation = creationIn(node)
    const texts = parameters.map((parameter) => [parameter, `\u0000${parameter}`] as const)
    if (creation !== undefined && thrownBy(creation, new Map(texts))?.text.includes('\u0000'))
      factories.set(functionName, { parameters, thrown: (env) => thrownBy(creation, env) ?? unexpected() })
  }
  for (const child of childrenOf(node))
    factoriesIn(child, node.type === 'VariableDeclarator' ? String(id ?? '') : null, factories)
}
const unexpected = (): never => {
  throw new Error('the factory creates no error')
}

const programs = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/^(?:testing|build)\//.test(name))
  .map((name) => {
    const text = readFileSync(join(ROOT, 'src', name), 'utf8')
    return { name, program: parseSync(name, text).program as unknown as Node }
  })

const exported = ({ body }: Node): Node[] =>
  nodesIn(body).filter(({ type }) => type === 'ExportNamedDeclaration')

/** Each error text of the sources, once. */
function allErrors(): Thrown[] {
  const shared = new Map<string, Factory>()
  for (const { program } of programs)
    for (const statement of exported(program)) factoriesIn(statement, null, shared)
  // A local variable of another file may have the same name.
  const imported = new Map(
    programs
      .flatMap(({ program }) => exported(program).flatMap((node) => [...constantsIn(node)]))
      .filter(([name]) => name !== 'message'),
  )
  const errors = programs.flatMap(({ program }) => {
    const factories = new Map<string, Factory>()
    factoriesIn(program, null, factories)
    return errorsIn(program, new Map([...shared, ...factories]), imported)
  })
  const texts = errors.filter(({ text }) => /[a-z]{3}/.test(text))
  return [...new Map(texts.map((error) => [`${error.type} ${error.code} ${error.text}`, error])).values()]
}

const errors = allErrors()
const textsOf = (type: ErrorClass, code: string): string[] =>
  errors
    .filter((error) => error.type === type && error.code === code)
    .map(({ text }) => text)
    .toSorted()
const listOf = (texts: readonly string[]): string =>
  texts
    .map(
      (text) =>
        `- ${text.replaceAll(/\s+/g, ' ').trim().replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('__', '\\_\\_')}\n`,
    )
    .join('')

function page(): string {
  const codes = Object.keys(MEANINGS).toSorted() as ErrorCode[]
  const library = codes.map((code) => {
    const status = toProblem(new ColloquyError(code, ''), {})?.status
    const http = status === undefined ? '' : ` HTTP status ${status}.`
    const texts = textsOf('ColloquyError', code)
    return `### ${code}\n\n${MEANINGS[code]}${http}\n${texts.length > 0 ? '\n' : ''}${listOf(texts)}`
  })
  const statuses = [...new Set(errors.filter(({ type }) => type === 'HttpProblem').map(({ code }) => code))]
  const http = statuses
    .toSorted()
    .map(
      (status) =>
        `### ${status === '…' ? 'Other statuses' : status}\n\n${listOf(textsOf('HttpProblem', status))}`,
    )
  const files = [...new Set(errors.filter(({ type }) => type === 'FileError').map(({ code }) => code))]
  const command = files.toSorted().flatMap((code) => textsOf('FileError', code))
  return [
    '# Errors\n',
    'This page lists the error texts of the library, the service and the command, except the issues of an invalid event or request body. `…` is a placeholder for a value. A slash between spaces separates alternatives. A test writes this page from the sources.\n',
    '## Library\n',
    'Errors are `ColloquyError`s. Check them with `hasCode(error, code)`.\n',
    ...library,
    '## HTTP\n',
    'Each list contains the `detail` texts of one HTTP status. The HTTP status of a library error is listed above with its code.\n',
    ...http,
    '## Command\n',
    'The command exits with 2 for wrong usage, and with 1 for a problem in the data or a file.\n',
    `### Usage\n\n${listOf(textsOf('UsageError', 'usage'))}`,
    `### Files\n\nThe command prints the path of the file before the text.\n\n${listOf(command)}`,
  ].join('\n')
}

it('docs/errors.md lists the errors that the sources throw', async () => {
  expect(errors.length).toBeGreaterThan(200)
  await expect(page()).toMatchFileSnapshot(PAGE)
})
