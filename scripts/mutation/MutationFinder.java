package mutation;

import com.sun.source.tree.AnnotationTree;
import com.sun.source.tree.BinaryTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.ConditionalExpressionTree;
import com.sun.source.tree.DoWhileLoopTree;
import com.sun.source.tree.ExpressionStatementTree;
import com.sun.source.tree.ExpressionTree;
import com.sun.source.tree.ForLoopTree;
import com.sun.source.tree.IfTree;
import com.sun.source.tree.LambdaExpressionTree;
import com.sun.source.tree.LiteralTree;
import com.sun.source.tree.MethodInvocationTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.NewClassTree;
import com.sun.source.tree.ParenthesizedTree;
import com.sun.source.tree.ReturnTree;
import com.sun.source.tree.StatementTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.Tree.Kind;
import com.sun.source.tree.UnaryTree;
import com.sun.source.tree.VariableTree;
import com.sun.source.tree.WhileLoopTree;
import com.sun.source.util.SourcePositions;
import com.sun.source.util.TreeScanner;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import javax.lang.model.element.Modifier;

/**
 * All changes that can be made to one file, from its parsed tree. Types are not known here: what
 * does not compile, or compiles to the same code, is drawn in vain and drawn again.
 */
final class MutationFinder extends TreeScanner<Void, Void> {
  /** Calls whose first two arguments may stand either way round. */
  private static final Set<String> COMMUTE =
      Set.of(
          "Math.max",
          "Math.min",
          "Math.fma",
          "Math.addExact",
          "Math.multiplyExact",
          "Objects.equals",
          "Arrays.equals");

  /**
   * Collections and buffers whose constructors take a number of elements or bytes to begin with.
   */
  private static final Set<String> GROW =
      Set.of(
          "ArrayDeque",
          "ArrayList",
          "BitSet",
          "ByteArrayOutputStream",
          "HashMap",
          "HashSet",
          "IdentityHashMap",
          "LinkedHashMap",
          "LinkedHashSet",
          "StringBuilder",
          "StringWriter");

  private record Swap(String operator, String from, String to) {}

  private static final Map<Kind, Swap> SWAPS = new EnumMap<>(Kind.class);

  static {
    swap(Kind.LESS_THAN, "boundary", "<", "<=");
    swap(Kind.LESS_THAN_EQUAL, "boundary", "<=", "<");
    swap(Kind.GREATER_THAN, "boundary", ">", ">=");
    swap(Kind.GREATER_THAN_EQUAL, "boundary", ">=", ">");
    swap(Kind.PLUS, "arithmetic", "+", "-");
    swap(Kind.MINUS, "arithmetic", "-", "+");
    swap(Kind.MULTIPLY, "arithmetic", "*", "/");
    swap(Kind.DIVIDE, "arithmetic", "/", "*");
    swap(Kind.REMAINDER, "arithmetic", "%", "*");
    swap(Kind.LEFT_SHIFT, "arithmetic", "<<", ">>");
    swap(Kind.RIGHT_SHIFT, "arithmetic", ">>", "<<");
    swap(Kind.AND, "arithmetic", "&", "|");
    swap(Kind.OR, "arithmetic", "|", "&");
    swap(Kind.CONDITIONAL_AND, "condition", "&&", "||");
    swap(Kind.CONDITIONAL_OR, "condition", "||", "&&");
    swap(Kind.EQUAL_TO, "condition", "==", "!=");
    swap(Kind.NOT_EQUAL_TO, "condition", "!=", "==");
  }

  private static void swap(Kind kind, String operator, String from, String to) {
    SWAPS.put(kind, new Swap(operator, from, to));
  }

  private final String file;
  private final String source;
  private final CompilationUnitTree unit;
  private final SourcePositions positions;
  private final List<Mutation> found = new ArrayList<>();

  private Tree statement; // innermost, for the lines that a test must reach
  private Tree returns; // type of the method around; null in a lambda
  private boolean runsOnce;
  private boolean isRoom; // in a sum or product that says how much room there is at first

  private MutationFinder(
      String file, String source, CompilationUnitTree unit, SourcePositions positions) {
    this.file = file;
    this.source = source;
    this.unit = unit;
    this.positions = positions;
  }

  static List<Mutation> find(
      String file, String source, CompilationUnitTree unit, SourcePositions positions) {
    MutationFinder finder = new MutationFinder(file, source, unit, positions);
    finder.scan(unit, null);
    return finder.found;
  }

  private int start(Tree tree) {
    return (int) positions.getStartPosition(unit, tree);
  }

  private int end(Tree tree) {
    return (int) positions.getEndPosition(unit, tree);
  }

  private String text(Tree tree) {
    return source.substring(start(tree), end(tree));
  }

  private void add(Tree tree, String operator, String after) {
    add(tree, operator, start(tree), end(tree), after);
  }

  private void add(Tree tree, String operator, int from, int to, String after) {
    int line = (int) unit.getLineMap().getLineNumber(from);
    int first = line;
    int last = Math.max(line, (int) unit.getLineMap().getLineNumber(Math.max(from, to - 1)));
    if (statement != null && start(statement) <= from) {
      first =
          (int) unit.getLineMap().getLineNumber(start(statement)); // later ones may have no code
      last = isSimple(statement) ? (int) unit.getLineMap().getLineNumber(end(statement) - 1) : last;
    }
    String before = source.substring(from, to);
    found.add(new Mutation(file, line, first, last, operator, runsOnce, from, before, after));
  }

  private static boolean isSimple(Tree statement) {
    return switch (statement.getKind()) {
      case EXPRESSION_STATEMENT, RETURN, VARIABLE, THROW, YIELD -> true;
      default -> false;
    };
  }

  @Override
  public Void scan(Tree tree, Void nothing) {
    if (tree instanceof AnnotationTree) {
      return null;
    }
    Tree outer = statement;
    if (tree instanceof StatementTree && !(tree instanceof ClassTree)) {
      statement = tree;
    }
    super.scan(tree, nothing);
    statement = outer;
    return null;
  }

  // ---- where we are ----

  @Override
  public Void visitClass(ClassTree tree, Void nothing) {
    Tree outerReturns = returns;
    boolean outerOnce = runsOnce;
    for (Tree member : tree.getMembers()) {
      runsOnce =
          switch (member) {
            case VariableTree field ->
                field.getModifiers().getFlags().contains(Modifier.STATIC)
                    || tree.getKind() == Kind.ENUM;
            case com.sun.source.tree.BlockTree block -> block.isStatic();
            case MethodTree method ->
                tree.getKind() == Kind.ENUM && method.getName().contentEquals("<init>");
            default -> false;
          };
      scan(member, nothing);
    }
    returns = outerReturns;
    runsOnce = outerOnce;
    return null;
  }

  @Override
  public Void visitMethod(MethodTree tree, Void nothing) {
    if (tree.getName().contentEquals("hashCode") || tree.getBody() == null) {
      return null; // any hash is right
    }
    Tree outer = returns;
    returns = tree.getReturnType();
    scan(tree.getBody(), nothing);
    returns = outer;
    return null;
  }

  @Override
  public Void visitLambdaExpression(LambdaExpressionTree tree, Void nothing) {
    Tree outer = returns;
    boolean outerOnce = runsOnce;
    returns = null;
    runsOnce = false;
    super.visitLambdaExpression(tree, nothing);
    returns = outer;
    runsOnce = outerOnce;
    return null;
  }

  // ---- what means the same by its form ----

  /** Nobody reads files of other versions of our classes, so any number is right. */
  @Override
  public Void visitVariable(VariableTree tree, Void nothing) {
    return tree.getName().contentEquals("serialVersionUID")
        ? null
        : super.visitVariable(tree, nothing);
  }

  /**
   * Whether an object is told how much room it has at first, which grows: another constant there,
   * one more or none, changes nothing.
   */
  private static boolean isRoom(NewClassTree tree) {
    String type = tree.getIdentifier().toString().replaceFirst("<.*", "");
    return GROW.contains(type)
        && tree.getClassBody() == null
        && !tree.getArguments().isEmpty()
        && isCount(tree.getArguments().getFirst());
  }

  /**
   * Made of whole numbers and names alone, by sums and products: never negative if these are not.
   */
  private static boolean isCount(Tree tree) {
    return switch (tree.getKind()) {
      case INT_LITERAL, IDENTIFIER -> true;
      case PLUS, MULTIPLY ->
          tree instanceof BinaryTree both
              && isCount(both.getLeftOperand())
              && isCount(both.getRightOperand());
      default -> false;
    };
  }

  // ---- operators ----

  @Override
  public Void visitExpressionStatement(ExpressionStatementTree tree, Void nothing) {
    String text = text(tree);
    if (!text.startsWith("super(") && !text.startsWith("this(") && text.endsWith(";")) {
      add(tree, "statement removed", ";");
    }
    return super.visitExpressionStatement(tree, nothing);
  }

  @Override
  public Void visitBinary(BinaryTree tree, Void nothing) {
    Swap swap = SWAPS.get(tree.getKind());
    if (swap != null && !(swap.from.equals("+") && hasText(tree))) {
      int from = source.indexOf(swap.from, end(tree.getLeftOperand()));
      if (from < start(tree.getRightOperand())) {
        add(tree, swap.operator, from, from + swap.from.length(), swap.to);
      }
    }
    return super.visitBinary(tree, nothing);
  }

  /** Whether a sum joins strings, as far as can be seen. */
  private static boolean hasText(Tree tree) {
    return switch (tree) {
      case BinaryTree sum -> hasText(sum.getLeftOperand()) || hasText(sum.getRightOperand());
      case LiteralTree literal -> literal.getKind() == Kind.STRING_LITERAL;
      default -> false;
    };
  }

  @Override
  public Void visitUnary(UnaryTree tree, Void nothing) {
    String operand = text(tree.getExpression());
    switch (tree.getKind()) {
      case LOGICAL_COMPLEMENT -> add(tree, "condition", "(" + operand + ")");
      case UNARY_MINUS -> add(tree, "arithmetic", "(" + operand + ")");
      case POSTFIX_INCREMENT -> add(tree, "arithmetic", operand + "--");
      case POSTFIX_DECREMENT -> add(tree, "arithmetic", operand + "++");
      default -> {}
    }
    return super.visitUnary(tree, nothing);
  }

  @Override
  public Void visitLiteral(LiteralTree tree, Void nothing) {
    switch (tree.getValue()) {
      case Boolean flag -> add(tree, "constant", String.valueOf(!flag));
      case Integer number when isRoom -> {}
      case Integer number -> add(tree, "constant", number == 1 ? "0" : "(" + text(tree) + " + 1)");
      case Long number -> add(tree, "constant", number == 1 ? "0L" : "(" + text(tree) + " + 1)");
      case Double number -> add(tree, "constant", number == 0 ? "1.0" : "(2 * " + text(tree) + ")");
      case null, default -> {}
    }
    return super.visitLiteral(tree, nothing);
  }

  @Override
  public Void visitMethodInvocation(MethodInvocationTree tree, Void nothing) {
    List<? extends ExpressionTree> arguments = tree.getArguments();
    // of a sum or a maximum nothing changes; of a fused product only the addend is in its place
    int first = COMMUTE.contains(text(tree.getMethodSelect())) ? 1 : 0;
    swapArguments(arguments.subList(Math.min(first, arguments.size()), arguments.size()));
    return super.visitMethodInvocation(tree, nothing);
  }

  @Override
  public Void visitNewClass(NewClassTree tree, Void nothing) {
    swapArguments(tree.getArguments());
    if (isRoom(tree)) {
      isRoom = true;
      scan(tree.getArguments().getFirst(), nothing);
      isRoom = false;
      scan(tree.getArguments().subList(1, tree.getArguments().size()), nothing);
      return null;
    }
    return super.visitNewClass(tree, nothing);
  }

  private void swapArguments(List<? extends ExpressionTree> arguments) {
    for (int i = 1; i < arguments.size(); i++) {
      Tree left = arguments.get(i - 1);
      Tree right = arguments.get(i);
      if (!text(left).equals(text(right))) {
        String between = source.substring(end(left), start(right));
        add(left, "arguments swapped", start(left), end(right), text(right) + between + text(left));
      }
    }
  }

  @Override
  public Void visitIf(IfTree tree, Void nothing) {
    negate(tree.getCondition());
    return super.visitIf(tree, nothing);
  }

  @Override
  public Void visitWhileLoop(WhileLoopTree tree, Void nothing) {
    negate(tree.getCondition());
    return super.visitWhileLoop(tree, nothing);
  }

  @Override
  public Void visitDoWhileLoop(DoWhileLoopTree tree, Void nothing) {
    negate(tree.getCondition());
    return super.visitDoWhileLoop(tree, nothing);
  }

  @Override
  public Void visitForLoop(ForLoopTree tree, Void nothing) {
    negate(tree.getCondition());
    return super.visitForLoop(tree, nothing);
  }

  @Override
  public Void visitConditionalExpression(ConditionalExpressionTree tree, Void nothing) {
    negate(tree.getCondition());
    return super.visitConditionalExpression(tree, nothing);
  }

  private void negate(ExpressionTree condition) {
    if (condition == null || condition instanceof LiteralTree) {
      return;
    }
    ExpressionTree inner =
        condition instanceof ParenthesizedTree brackets ? brackets.getExpression() : condition;
    if (inner.getKind() != Kind.LOGICAL_COMPLEMENT && !text(inner).contains(" instanceof ")) {
      add(inner, "condition", "!(" + text(inner) + ")");
    }
  }

  @Override
  public Void visitReturn(ReturnTree tree, Void nothing) {
    if (tree.getExpression() != null && returns != null) {
      String value = text(tree.getExpression());
      String other = other(text(returns).replaceFirst("<.*", ""), value);
      if (!Objects.equals(value, other)) {
        add(tree.getExpression(), "return value", other);
      }
    }
    return super.visitReturn(tree, nothing);
  }

  private static String other(String type, String value) {
    return switch (type) {
      case "boolean" -> "!(" + value + ")";
      case "int", "long", "double", "float", "short", "byte", "Integer", "Long", "Double" ->
          "(" + value + ") + 1";
      case "String" -> "\"\"";
      case "Optional", "OptionalInt", "OptionalLong", "OptionalDouble" ->
          "java.util." + type + ".empty()";
      case "List", "Set", "Map" -> "java.util." + type + ".of()";
      default -> "null";
    };
  }
}
