/** Converts zod's problems to issues in the form of FastAPI: a path, a message and a stable type. */

import { maskSecrets, mentionsSecret } from './mask.ts'
import type { JsonValue } from './shapes.ts'
import type { Problem } from './shape-schema.ts'

/** One problem with a value. */
export interface Issue {
  readonly loc: readonly (string | number)[]
  readonly msg: string
  /** Stable name of the problem, such as `missing`, `extra_forbidden` or `string_type`. */
  readonly type: string
  /** The value, with secrets masked. Absent for a missing field, and for a text that may contain a secret. */
  readonly input?: unknown
}

type Path = readonly (string | number)[]

const ABSENT = Symbol('absent')

/** Converts problems. A problem with several unknown fields becomes an issue for each. `base`: path to `root`. */
export function toIssues(problems: readonly Problem[], root: JsonValue, base: Path = []): readonly Issue[] {
  return problems.flatMap((problem) => {
    const path = problem.path as Path
    const loc = [...base, ...path]
    switch (problem.code) {
      case 'unrecognized_keys':
        return problem.keys.map((key) =>
          issue(
            [...loc, key],
            'extra_forbidden',
            'Unknown field. Remove it, or check its spelling.',
            valueAt(root, [...path, key]),
          ),
        )
      case 'invalid_key':
        return problem.issues.map((rule) =>
          issue(loc, 'value_error', describeProblem(rule, path.at(-1))[1], valueAt(root, path)),
        )
      case 'invalid_union':
        return toIssues(nearestBranch(problem.errors), valueAt(root, path) as JsonValue, loc)
      default:
        return [issue(loc, ...describeProblem(problem, valueAt(root, path)), valueAt(root, path))]
    }
  })
}

export function issue(loc: Path, type: string, msg: string, input: unknown = ABSENT): Issue {
  if (input === ABSENT || (typeof input === 'string' && mentionsSecret(input))) return { loc, msg, type }
  // `maskSecrets` checks the property names inside `input`, but not the names in the path to it.
  return {
    loc,
    msg,
    type,
    input: loc.some((key) => typeof key === 'string' && mentionsSecret(key)) ? null : maskSecrets(input),
  }
}

function nearestBranch(branches: readonly (readonly Problem[])[]): readonly Problem[] {
  return branches.toSorted((a, b) => distance(a) - distance(b))[0] ?? []
}

function distance(branch: readonly Problem[]): number {
  const distances = branch.map((problem) => {
    if (problem.code === 'invalid_union') return Math.min(...problem.errors.map(distance))
    const isOtherType = problem.path.length === 0 && problem.code === 'invalid_type'
    return problem.path[0] === 'type' ? 1_000 : isOtherType ? 100 : 1
  })
  return distances.reduce((sum, one) => sum + one, 0)
}

function valueAt(root: JsonValue, path: Path): unknown {
  let value: unknown = root
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return ABSENT
    value = (value as Readonly<Record<string | number, unknown>>)[key]
  }
  return value
}

const EXPECTED: Readonly<Record<string, readonly [type: string, noun: string]>> = {
  string: ['string_type', 'a string'],
  boolean: ['bool_type', 'true or false'],
  number: ['float_type', 'a number'],
  int: ['int_type', 'an integer'],
  array: ['list_type', 'a list'],
  object: ['dict_type', 'an object'],
  record: ['dict_type', 'an object'],
}

function expectation(problem: Problem): readonly [type: string, noun: string] {
  if (problem.code === 'invalid_type')
    return EXPECTED[problem.message] ?? EXPECTED[problem.expected] ?? ['value_error', problem.expected]
  if (problem.code !== 'invalid_value') return ['value_error', 'a value']
  const values = problem.values.map((value) => JSON.stringify(value))
  return values.length > 1 ? ['enum', `one of ${values.join(', ')}`] : ['literal_error', String(values[0])]
}

function describeProblem(problem: Problem, input: unknown): readonly [type: string, msg: string] {
  const [type, noun] = expectation(problem)
  if (input === ABSENT) return ['missing', `Required and missing. Add ${noun}.`]
  switch (problem.code) {
    case 'invalid_type':
      return [type, `Must be ${noun}, not ${typeName(input)}.`]
    case 'invalid_value':
      return [type, `Must be ${noun}.`]
    case 'too_small':
      return describeLimit(problem.origin, ['greater_than_equal', 'short'], `at least ${problem.minimum}`)
    case 'too_big':
      return describeLimit(problem.origin, ['less_than_equal', 'long'], `at most ${problem.maximum}`)
    case 'invalid_format':
      return ['string_pattern_mismatch', problem.message]
    case 'custom':
      return [String(problem.params?.['type']), problem.message]
    default:
      return [type, problem.message]
  }
}

function describeLimit(origin: string, [type, length]: readonly [string, string], limit: string) {
  if (origin === 'string') return [`string_too_${length}`, `Must have ${limit} character(s).`] as const
  return origin === 'array'
    ? ([`too_${length}`, `Must have ${limit} item(s).`] as const)
    : ([type, `Must be ${limit}.`] as const)
}

export function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'an object'
  if (typeof value === 'number' && !Number.isInteger(value)) return 'a fraction'
  return `a ${typeof value}`
}
