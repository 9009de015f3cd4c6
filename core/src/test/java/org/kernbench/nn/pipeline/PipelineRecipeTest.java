package org.kernbench.nn.pipeline;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.Method;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.kernbench.nn.autograd.Recipe;

/** A stage leaves every decision to the recipe within. */
class PipelineRecipeTest {
  /** One that it forgot would be taken as if no stage had asked. */
  @Test
  void everyDecision_isPassedOn() throws NoSuchMethodException {
    for (Method decision : Recipe.class.getDeclaredMethods()) {
      if (decision.isDefault()) {
        assertThat(PipelineRecipe.class.getMethod(decision.getName(), decision.getParameterTypes()))
            .as("%s", Arrays.toString(decision.getParameterTypes()))
            .extracting(Method::getDeclaringClass)
            .isEqualTo(PipelineRecipe.class);
      }
    }
  }
}
